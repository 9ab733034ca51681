//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

// instructed returns how often a model request contains each of these texts of a session's instructions.
func instructed(t *testing.T, model *modelserver.Server, words ...string) map[string]int {
	t.Helper()
	found := map[string]int{}
	body := string(lastRequest(model).Body)
	for _, word := range words {
		if n := strings.Count(body, word); n > 0 {
			found[word] = n
		}
	}
	return found
}

// with returns the params of a method that opens a session, and these.
func (h home) with(id string, more map[string]any) map[string]any {
	params := h.params(id)
	if id == "" {
		delete(params, "sessionId")
	}
	for key, value := range more {
		params[key] = value
	}
	return params
}

func appends(text string) map[string]any {
	return map[string]any{"mode": "append", "content": []any{map[string]any{"type": "text", "text": text}}}
}

// The client's addition to the system prompt, and the additional directories, are in each request to the model, once: after new, in later
// prompts, after a rewind and a compaction, after a load that gives them, by this agent and by another. A load without directories has
// none. The addition applies by itself if droid stores it.
func TestInstructionsReachTheModel(t *testing.T) {
	ofAdapter(t)
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		for _, prompt := range []string{"first", "second", "third", "fourth"} {
			model.On(prompt, modelserver.Step{Text: "Fine."})
		}
		lib, doc := h.root(t, "rootLIB"), h.root(t, "rootDOC")
		const words = "SAY-QUINCE"
		c := startAgent(t, h).initialize()
		var opened newSession
		c.mustCall("session/new", h.with("", map[string]any{"additionalDirectories": []string{lib}, "systemPrompt": appends(words)}), &opened)
		s := session{c, opened.SessionID}
		sees := func(s session, what string, want map[string]int) {
			t.Helper()
			end := s.prompt(what).end(turnLimit)
			require.Equal(t, "end_turn", end.Stop, "%v", end.Err)
			require.Equal(t, want, instructed(t, model, words, lib, doc), what)
		}
		both := map[string]int{words: 1, lib: 1}
		sees(s, "first", both)
		sees(s, "second", both)
		require.Contains(t, s.say("/rewind 2"), "back at the point")
		sees(s, "third", both)
		if h.does(t, stream.CompactsWithoutLogin) {
			require.Contains(t, s.say("/compact"), "became a summary")
			sees(s, "fourth", both)
		}
		require.Equal(t, 2, h.droids(t), "its own, and the spare, which it could not take")

		open := func(method string, more map[string]any) { c.mustCall("session/"+method, h.with(s.id, more), nil) }
		open("load", map[string]any{"additionalDirectories": []string{lib}})
		sees(s, "third", both)
		open("resume", map[string]any{"additionalDirectories": []string{doc}, "systemPrompt": appends(words)})
		sees(s, "third", map[string]int{words: 1, doc: 1})
		open("load", nil)
		sees(s, "third", map[string]int{words: 1})
		c.end(h)
		id := s.id

		stored := map[string]int{}
		if h.has(t, stream.StoresSystemPrompt) {
			stored[words] = 1
		}
		c = startAgent(t, h).initialize()
		s = session{c, id}
		open("load", nil)
		sees(s, "first", stored)
		open("resume", map[string]any{"additionalDirectories": []string{lib, doc}, "_meta": map[string]any{"systemPrompt": map[string]any{"append": words}}})
		sees(s, "second", map[string]int{words: 1, lib: 1, doc: 1})
		var copied newSession
		c.mustCall("session/fork", h.with(id, nil), &copied)
		sees(session{c, copied.SessionID}, "third", map[string]int{words: 1})
		c.end(h)
	})
}

// root creates a directory next to the working directory.
func (h home) root(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(h.dir, name)
	require.NoError(t, os.Mkdir(dir, 0o755))
	return dir
}

// A droid that was killed, and one that was parked, are replaced by one with the same instructions.
func TestInstructionsOutliveDroid(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("first", modelserver.Step{Text: "Fine."})
		model.On("second", modelserver.Step{Text: "Fine again."})
		model.On("killed", modelserver.Step{Text: "Working on it.", Hang: true})
		lib := h.root(t, "rootLIB")
		const words = "SAY-QUINCE"
		c := startAgent(t, h, "--park-after", "500ms", "--spare", "none").initialize()
		var opened newSession
		c.mustCall("session/new", h.with("", map[string]any{"additionalDirectories": []string{lib}, "_meta": map[string]any{"systemPrompt": map[string]any{"append": words}}}), &opened)
		s := session{c, opened.SessionID}
		own := func(p process) bool { return p.droid && strings.Contains(p.command, "--append-system-prompt-file") }
		sees := func() {
			t.Helper()
			require.Equal(t, map[string]int{words: 1, lib: 1}, instructed(t, model, words, lib))
		}
		require.Equal(t, "Fine.", s.say("first"))
		h.awaitNone(t, 20*time.Second, own) // it is parked
		killed := s.prompt("killed")
		killed.awaitUpdate("the first words", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
		sees()
		for _, p := range h.processes(t) {
			if own(p) {
				require.NoError(t, syscall.Kill(p.pid, syscall.SIGKILL))
			}
		}
		require.NotNil(t, killed.end(turnLimit).Err)
		require.Equal(t, "Fine again.", s.say("second"))
		sees()
		c.end(h)
	})
}

// A file of another root is read, created and linked to like one of the working directory, and the user sees its full path.
func TestWorkInAnotherRoot(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		lib := h.root(t, "lib")
		old, made := filepath.Join(lib, "old.txt"), filepath.Join(lib, "made.txt")
		require.NoError(t, os.WriteFile(old, []byte("MEDLAR\n"), 0o644))
		call := func(id, name string, args map[string]any) modelserver.Step {
			return modelserver.Step{Tools: []modelserver.ToolCall{{ID: id, Name: name, Args: args}}}
		}
		model.On("work", call("t1", "Read", map[string]any{"file_path": old}), call("t2", "Create", map[string]any{"file_path": made, "content": "new\n"}), modelserver.Step{Text: "Done."})
		c := startAgent(t, h, "--spare", "none").onPermission(allowOnce).initialize()
		var opened newSession
		c.mustCall("session/new", h.with("", map[string]any{"additionalDirectories": []string{lib}}), &opened)
		s := session{c, opened.SessionID}
		from := c.seen()
		request := s.request("session/prompt", map[string]any{"sessionId": s.id, "prompt": []any{
			map[string]any{"type": "text", "text": "work"},
			map[string]any{"type": "resource_link", "uri": "file://" + old, "name": "old.txt"},
		}})
		require.Equal(t, "end_turn", turn{s, request, from}.end(turnLimit).Stop)
		data, err := os.ReadFile(made)
		require.NoError(t, err)
		require.Equal(t, "new\n", string(data))
		body := string(lastRequest(model).Body)
		require.Contains(t, body, "@"+old)
		require.Contains(t, body, "MEDLAR")
		asked := c.asked()
		require.Len(t, asked, 1)
		var shown struct{ Title string }
		require.NoError(t, json.Unmarshal(asked[0].ToolCall, &shown))
		require.Contains(t, shown.Title, made, "the user sees in which root it is")
		located := false
		for _, l := range c.since(from) {
			located = located || strings.Contains(l.raw, `"locations":[{"path":"`+made+`"`)
		}
		require.True(t, located, "a location names it")
		c.end(h)
	})
}

// Text appended by acpx reaches the model, once.
func TestACPXAppendsToTheSystemPrompt(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello from the scripted model."})
		const words = "SAY-QUINCE"
		a := newACPX(t, h)
		require.Contains(t, a.run(t, "--append-system-prompt", words, "exec", "say hello"), "Hello from the scripted model.")
		a.end(t)
		require.Equal(t, map[string]int{words: 1}, instructed(t, model, words))
	})
}
