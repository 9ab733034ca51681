//go:build e2e && linux

package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// Variables that make this test binary a scripted droid whose model edits a file of megabytes, or says a word.
const (
	bulkEnv    = "DROID_ACP_E2E_BULK"         // the directory of its sessions
	historyEnv = "DROID_ACP_E2E_BULK_HISTORY" // how many messages the history of each has
)

// Sizes of what is measured, in bytes, and messages of the history.
const (
	bulkImage   = 5 << 20
	bulkEdit    = 3_400_000 // of each of the two texts
	bulkHistory = 5000
	bulkMessage = 2000 // of each message
)

// playBulk is that droid.
func playBulk() error {
	history, err := strconv.Atoi(os.Getenv(historyEnv))
	if err != nil {
		return err
	}
	answer := func(params map[string]any) (any, string) {
		messages := []fakedroid.Fields{}
		for i := range history {
			role := [2]string{"user", "assistant"}[i%2]
			messages = append(messages, fakedroid.Fields{"id": fmt.Sprintf("fa4ed801-0000-4000-8000-%012x", i), "role": role,
				"content": []any{fakedroid.Fields{"type": "text", "text": fmt.Sprintf("message %d %s", i, strings.Repeat("word ", bulkMessage/5))}}})
		}
		return fakedroid.Fields{"sessionId": params["sessionId"], "session": fakedroid.Fields{"messages": messages, "title": "Long"}, "cwd": os.Getenv(bulkEnv),
			"settings": fakedroid.Fields{"interactionMode": "auto", "autonomyLevel": "off"}, "availableModels": []any{}, "isAgentLoopInProgress": false, "hasOlderMessages": false}, ""
	}
	edit := fakedroid.Tool{Name: "Edit", Confirmation: "edit", Impact: "low", Result: "done", Input: fakedroid.Fields{
		"file_path": "/bulk/file", "old_str": strings.Repeat("a line of the old text\n", bulkEdit/23), "new_str": strings.Repeat("a line of the new text\n", bulkEdit/23)}}
	return fakedroid.Run(os.Stdin, os.Stdout, fakedroid.EachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
		if p.Text == "edit" {
			return d.Use("", "I edit. ", edit)
		}
		return d.Say("", "Seen.")
	}), fakedroid.WithAnswer("droid.load_session", answer))
}

// bulk is the environment of that droid.
func (h home) bulk(history int) []string {
	return []string{bulkEnv + "=" + h.work, fmt.Sprintf("%s=%d", historyEnv, history), "DROID_ACP_SPARE=none"}
}

// BenchmarkBulk measures the most memory that the agent has while megabytes go through it, above what it had before, in
// multiples of them, and how long they take, beside a client that speaks to droid itself.
func BenchmarkBulk(b *testing.B) {
	h := newHome(b, newDroid, newModel(b).URL())
	var err error
	h.droid, err = os.Executable()
	require.NoError(b, err)
	image := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, bulkImage)...))
	asked := func(s *speaker, words string) (id string) {
		_, rest, _ := strings.Cut(s.until(words, nil), `"id":`)
		id, _, _ = strings.Cut(rest, `,`)
		return id
	}
	const idle, stored = `"newState":"idle"`, "5ef7d3a8-1111-4222-8333-123456789012"
	f := figures{}
	var t strings.Builder
	_, _ = fmt.Fprintf(&t, "%s\n\n| scripted droid, median | payload | most memory, above what it had | of the payload | processor time | time | raw | of raw |\n|---|---|---|---|---|---|---|---|\n", tableBegins("bulk"))
	for _, of := range []struct {
		name string
		size int
		do   func(s *speaker, session string)
		raw  func(s *speaker)
		cold bool // a droid is started for it
	}{
		{"an image of 5 MiB in a prompt", len(image), func(s *speaker, session string) {
			s.say(`{"jsonrpc":"2.0","id":10,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"},{"type":"image","mimeType":"image/png","data":"%s"}]}}`, session, image)
			require.Contains(b, s.until(`"id":10,`, nil), "end_turn")
		}, func(s *speaker) {
			s.raw("10", "droid.add_user_message", `{"text":"go","images":[{"type":"base64","mediaType":"image/png","data":"`+image+`"}]}`)
			s.until(idle, nil)
		}, false},
		{"an edit of 6.8 MB that asks, which droid tells three times", 2 * bulkEdit, func(s *speaker, session string) {
			s.say(`{"jsonrpc":"2.0","id":10,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"edit"}]}}`, session)
			s.say(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":"proceed_once"}}}`, asked(s, `"session/request_permission"`))
			require.Contains(b, s.until(`"id":10,`, nil), "end_turn")
		}, func(s *speaker) {
			s.raw("10", "droid.add_user_message", `{"text":"edit"}`)
			s.say(`{"jsonrpc":"2.0","type":"response","factoryApiVersion":"1.0.0","id":%s,"result":{"selectedOption":"proceed_once"}}`, asked(s, `"droid.request_permission"`))
			s.until(idle, nil)
		}, false},
		{"a history of 5,000 messages", bulkHistory * bulkMessage, func(s *speaker, _ string) {
			n, began := 0, time.Now()
			s.say(`{"jsonrpc":"2.0","id":10,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, stored, h.work)
			require.Contains(b, s.until(`"id":10,`, func(line []byte) {
				if n == 0 {
					f.addTime("first", time.Since(began))
				}
				n += strings.Count(string(line), "message_chunk")
			}), `"result"`)
			require.GreaterOrEqual(b, n, bulkHistory)
		}, func(s *speaker) {
			s.raw("10", "droid.load_session", fmt.Sprintf(`{"sessionId":%q}`, stored))
			s.until(`"id":"10"`, nil)
		}, true},
	} {
		growth, cpuTime, wall, rawWall := of.name+" growth", of.name+" cpu", of.name+" wall", of.name+" raw"
		b.Run(of.name, func(b *testing.B) {
			for b.Loop() {
				s := speakTo(b, h, h.bulk(bulkHistory), programs.Agent, "--droid", h.droid)
				agentClient.greeted(s)
				session := agentClient.open(s, h.work)
				before, cpu, began := s.status("VmRSS"), s.cpu(), time.Now()
				of.do(s, session)
				f.addTime(wall, time.Since(began))
				f.add(growth, s.status("VmHWM")-before)
				f.addTime(cpuTime, s.cpu()-cpu)
				s.end()

				began = time.Now()
				s = speakTo(b, h, h.bulk(bulkHistory), h.droid)
				raw.open(s, h.work)
				if !of.cold {
					began = time.Now()
				}
				of.raw(s)
				f.addTime(rawWall, time.Since(began))
				s.end()
			}
			b.ReportMetric(f.at(growth, .5)*1024/float64(of.size), "times-the-payload")
			b.ReportMetric(f.at(cpuTime, .5), "agent-cpu-ms")
			b.ReportMetric(f.at(wall, .5)/f.at(rawWall, .5), "of-raw")
			b.ReportMetric(0, "ns/op")
		})
		if f[growth] == nil {
			continue // not asked for
		}
		_, _ = fmt.Fprintf(&t, "| %s | %.1f MB | %.1f MB | %.1f | %.0f ms | %.0f ms | %.0f ms | %.2f |\n", of.name, float64(of.size)/1e6, f.at(growth, .5)*1024/1e6,
			f.at(growth, .5)*1024/float64(of.size), f.at(cpuTime, .5), f.at(wall, .5), f.at(rawWall, .5), f.at(wall, .5)/f.at(rawWall, .5))
		if f["first"] != nil {
			_, _ = fmt.Fprintf(&t, "| its first update | | | | | %.0f ms | %.0f ms | %.2f |\n", f.at("first", .5), f.at(rawWall, .5), f.at("first", .5)/f.at(rawWall, .5))
		}
	}
	if page := os.Getenv("DROID_ACP_E2E_PERFORMANCE"); page != "" {
		replaceTable(b, page, tableBegins("bulk"), t.String())
	}
}
