//go:build e2e && linux

package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
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
// multiples of them.
func BenchmarkBulk(b *testing.B) {
	h := newHome(b, newDroid, newModel(b).URL())
	var err error
	h.droid, err = os.Executable()
	require.NoError(b, err)
	image := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, bulkImage)...))
	f := figures{}
	var t strings.Builder
	_, _ = fmt.Fprintf(&t, "%s\n\n| scripted droid, median | payload | most memory, above what it had | of the payload | processor time |\n|---|---|---|---|---|\n", tableBegins("bulk"))
	for _, of := range []struct {
		name string
		size int
		do   func(s *speaker, session string)
	}{
		{"an image of 5 MiB in a prompt", len(image), func(s *speaker, session string) {
			s.say(`{"jsonrpc":"2.0","id":10,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"},{"type":"image","mimeType":"image/png","data":"%s"}]}}`, session, image)
			require.Contains(b, s.until(`"id":10,`, nil), "end_turn")
		}},
		{"an edit of 6.8 MB that asks, which droid tells three times", 2 * bulkEdit, func(s *speaker, session string) {
			s.say(`{"jsonrpc":"2.0","id":10,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"edit"}]}}`, session)
			_, rest, _ := strings.Cut(s.until(`"session/request_permission"`, nil), `"id":`)
			id, _, _ := strings.Cut(rest, `,`)
			s.say(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":"proceed_once"}}}`, id)
			require.Contains(b, s.until(`"id":10,`, nil), "end_turn")
		}},
		{"a history of 5,000 messages", bulkHistory * bulkMessage, func(s *speaker, _ string) {
			n := 0
			s.say(`{"jsonrpc":"2.0","id":10,"method":"session/load","params":{"sessionId":"5ef7d3a8-1111-4222-8333-123456789012","cwd":%q,"mcpServers":[]}}`, h.work)
			require.Contains(b, s.until(`"id":10,`, func(line []byte) { n += strings.Count(string(line), "message_chunk") }), `"result"`)
			require.GreaterOrEqual(b, n, bulkHistory)
		}},
	} {
		growth, cpuTime := of.name+" growth", of.name+" cpu"
		b.Run(of.name, func(b *testing.B) {
			for b.Loop() {
				s := speakTo(b, h, h.bulk(bulkHistory), programs.Agent, "--droid", h.droid)
				agentClient.greeted(s)
				session := agentClient.open(s, h.work)
				before, cpu := s.status("VmRSS"), s.cpu()
				of.do(s, session)
				f.add(growth, s.status("VmHWM")-before)
				f.addTime(cpuTime, s.cpu()-cpu)
				s.end()
			}
			b.ReportMetric(f.at(growth, .5)*1024/float64(of.size), "times-the-payload")
			b.ReportMetric(f.at(cpuTime, .5), "agent-cpu-ms")
			b.ReportMetric(0, "ns/op")
		})
		if f[growth] == nil {
			continue // not asked for
		}
		_, _ = fmt.Fprintf(&t, "| %s | %.1f MB | %.1f MB | %.1f | %.0f ms |\n", of.name, float64(of.size)/1e6, f.at(growth, .5)*1024/1e6,
			f.at(growth, .5)*1024/float64(of.size), f.at(cpuTime, .5))
	}
	if page := os.Getenv("DROID_ACP_E2E_PERFORMANCE"); page != "" {
		replaceTable(b, page, tableBegins("bulk"), t.String())
	}
}
