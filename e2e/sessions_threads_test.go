//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

// droids returns the number of running droids of a home.
func (h home) droids(t *testing.T) (n int) {
	t.Helper()
	for _, p := range h.processes(t) {
		if p.droid {
			n++
		}
	}
	return n
}

// since returns the agent's lines from this number on.
func (c *client) since(from int) []line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines[from:len(c.lines):len(c.lines)]
}

// stored returns the file of a session in droid's store.
func (h home) stored(t *testing.T, id string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.dir, ".factory", "sessions", "*", id+".jsonl"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}

// A conversation outside of the store is not reachable by its path, with any method.
func TestHostileSessionIDs(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("remember", modelserver.Step{Text: "I keep MEDLAR in mind."})
		model.On("still", modelserver.Step{Text: "Still here."})
		s := startAgent(t, h).open(h)
		require.Equal(t, "end_turn", s.prompt("remember MEDLAR").end(turnLimit).Stop)
		outside := filepath.Join(h.dir, "outside")
		require.NoError(t, os.Mkdir(outside, 0o755))
		conversation, err := os.ReadFile(h.stored(t, s.id))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(outside, "victim.jsonl"), conversation, 0o600))
		from := s.seen()
		for _, id := range []string{
			"../../outside/victim", "../../../outside/victim", "../" + s.id, filepath.Join(outside, "victim"), `..\..\outside\victim`,
			"..", ".", "victim\x00", "C:victim", "victim.jsonl::$DATA", strings.Repeat("../", 2000),
		} {
			for method, params := range map[string]map[string]any{
				"session/load": h.params(id), "session/resume": h.params(id), "session/fork": h.params(id),
				"session/delete": {"sessionId": id}, "session/close": {"sessionId": id},
				"session/prompt":            {"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": "still"}}},
				"session/set_mode":          {"sessionId": id, "modeId": "spec"},
				"session/set_config_option": {"sessionId": id, "configId": "mode", "value": "spec"},
				"_droid/messages":           {"sessionId": id}, "_droid/export": {"sessionId": id, "path": "out.html"},
			} {
				_, err := s.call(method, params)
				require.NotNil(t, err, "%s %.40q", method, id)
				require.Equal(t, -32602, err.Code, "%s %.40q", method, id)
			}
		}
		require.Equal(t, 1, h.droids(t), "none was started for it")
		require.Equal(t, "Still here.", s.prompt("still").end(turnLimit).text())
		s.end(h)
		for _, l := range s.since(from) {
			require.NotContains(t, l.raw, "MEDLAR", "nothing of it is told")
		}
		entries, err := os.ReadDir(outside)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		after, err := os.ReadFile(filepath.Join(outside, "victim.jsonl"))
		require.NoError(t, err)
		require.Equal(t, string(conversation), string(after))
		require.NoFileExists(t, filepath.Join(h.work, "out.html"))
	})
}

// requestText returns the model's input in the last call of the conversation, and its number of messages of user, assistant and tools.
func requestText(t *testing.T, model *modelserver.Server) (text string, messages int) {
	t.Helper()
	r := lastRequest(model)
	for _, m := range r.Messages {
		if m.Role != "system" {
			messages++
		}
	}
	body, err := json.Marshal(r.Messages)
	require.NoError(t, err)
	return string(body), messages
}

// newest returns the session in which a thread continued last.
func (h home) newest(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, ".factory", "droid-acp-threads.jsonl"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	var l struct{ To string }
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &l))
	require.NotEmpty(t, l.To)
	return l.To
}

// After /compact and /rewind the thread is one session under its IDs, in one droid, whose model gets the new conversation; deleting it by
// the ID that droid works on leaves nothing of it.
func TestThreadWithTwoIDs(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("first", modelserver.Step{Text: "QUINCE it is."})
		model.On("second", modelserver.Step{Text: "MEDLAR it is."})
		model.On("third", modelserver.Step{Text: "Third."})
		model.On("fourth", modelserver.Step{Text: "Fourth."})
		c := startAgent(t, h)
		s := c.open(h)
		// newID is the session that a command made.
		newID := func(said string) string {
			t.Helper()
			require.Contains(t, said, "`/fork before` reopens the conversation as it was")
			return h.newest(t)
		}
		s.say("first")
		s.say("second")
		works := newID(s.say("/rewind 2"))
		require.Equal(t, "Third.", s.say("third"))
		text, _ := requestText(t, model)
		require.Contains(t, text, "QUINCE")
		require.NotContains(t, text, "MEDLAR", "it was gone back behind that")
		if h.does(t, stream.CompactsWithoutLogin) {
			works = newID(s.say("/compact"))
			require.Equal(t, "Fourth.", s.say("fourth"))
			text, messages := requestText(t, model)
			t.Logf("%d messages reach the model after the summary", messages)
			require.NotContains(t, text, "QUINCE it is.", "a summary took its place")
			require.NotContains(t, text, "Third.")
		} else {
			require.Equal(t, "Fourth.", s.say("fourth"))
		}

		from := c.seen()
		replayed, _ := c.replay(h, works)
		require.Contains(t, replayed, said{"agent", "Fourth."})
		for _, l := range c.since(from) {
			if strings.Contains(l.raw, "_message_chunk") {
				require.Contains(t, l.raw, `"sessionId":"`+works+`"`)
			}
		}
		other := session{c, works}
		require.Equal(t, "Fourth.", other.say("fourth again"))
		require.Equal(t, "Fourth.", s.say("fourth by the first id"))
		require.Equal(t, 1, h.droids(t), "one droid has it")

		require.Equal(t, []string{s.id}, c.listed(h), "it is one thread")

		before, file := h.stored(t, s.id), h.stored(t, works)
		c.mustCall("session/delete", map[string]any{"sessionId": works}, nil)
		require.NoFileExists(t, file)
		h.awaitNoDroid(t, 10*time.Second)
		require.NoFileExists(t, before)
		require.NoFileExists(t, file, "nobody wrote it again")
		require.Empty(t, c.listed(h))
		for _, id := range []string{s.id, works} {
			require.Equal(t, codeNotFound, session{c, id}.prompt("gone").end(turnLimit).Err.Code)
		}
	})
}

// A client that opens, closes and prompts without waiting gets every answer, with one droid at a time.
func TestPipelinedOpens(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("one", modelserver.Step{Text: "First answer."})
		model.On("two", modelserver.Step{Text: "Second answer."})
		model.On("three", modelserver.Step{Text: "Third answer."})
		s := startAgent(t, h).open(h)
		require.Equal(t, "First answer.", s.prompt("one").end(turnLimit).text())
		require.Equal(t, "Second answer.", s.prompt("two").end(turnLimit).text())
		history := []said{{"user", "one"}, {"agent", "First answer."}, {"user", "two"}, {"agent", "Second answer."}}

		// Closed and loaded at once: the old droid has exited before.
		s.request("session/close", map[string]any{"sessionId": s.id})
		from := s.seen()
		load := s.request("session/load", h.params(s.id))
		_, l := s.response(load, 30*time.Second)
		require.Nil(t, l.Error)
		require.Equal(t, 1, h.droids(t))
		replayed, _ := s.messages(from)
		require.Equal(t, history, replayed)

		// The commands, and the use of the context if droid reports it, are sent again.
		s.await("the commands", from, turnLimit, func(l line) bool { return strings.Contains(l.raw, `"available_commands_update"`) })
		if h.version == newDroid {
			_, l := s.await("usage", from, turnLimit, func(l line) bool { return strings.Contains(l.raw, `"usage_update"`) })
			require.Regexp(t, `"used":[1-9][0-9]*,"size":[1-9]`, l.raw)
		}

		// Without a process: the second opener gets the whole history and its servers, and the prompt after it begins after its response.
		h.killDroid(t)
		h.awaitNoDroid(t, 10*time.Second)
		require.Eventually(t, func() bool {
			var state struct{ ProtocolVersion string }
			s.mustCall("_droid/state", map[string]any{"sessionId": s.id}, &state)
			return state.ProtocolVersion == ""
		}, turnLimit, 20*time.Millisecond)
		from = s.seen()
		mode := s.request("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "auto-low"})
		with := h.params(s.id)
		with["mcpServers"] = []any{stdioServer(t, "tiny", "hello ")}
		load = s.request("session/load", with)
		turn := s.prompt("three")
		_, l = s.response(mode, 30*time.Second)
		require.Nil(t, l.Error)
		number, l := s.response(load, 30*time.Second)
		require.Nil(t, l.Error)
		end := turn.done()
		for i, l := range s.since(from)[:end.number-from] {
			switch u, _ := asUpdate(l); {
			case u.SessionUpdate == "user_message_chunk":
				require.Less(t, from+i, number, "the history comes before the response")
			case strings.Contains(l.raw, "Third answer"):
				require.Greater(t, from+i, number, "the answer comes behind it")
			}
		}
		replayed, _ = s.messages(from)
		last := &replayed[len(replayed)-1]
		last.text = strings.TrimSpace(last.text) // a break before it depends on when the prompt came
		require.Equal(t, append(history, said{"agent", "Third answer."}), replayed)
		require.Contains(t, string(lastRequest(model).Body), "tiny___echo", "its server's tools are there")
		require.Equal(t, 1, h.droids(t))
	})
}

// droid is killed three times in a row, and a load makes the session usable again.
func TestLoadIsTheWayOutOfCrashes(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("silent", modelserver.Step{Text: "Wait. ", Hang: true})
		model.On("fine", modelserver.Step{Text: "All is fine."})
		s := startAgent(t, h).open(h)
		for range 3 {
			turn := s.prompt("be silent")
			turn.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
			h.killDroid(t)
			require.Contains(t, turn.end(turnLimit).Err.Message, "droid was ended by signal")
			require.Equal(t, "end_turn", s.prompt("/help").end(turnLimit).Stop)
		}
		require.Contains(t, s.prompt("is all fine?").end(turnLimit).Err.Message, "droid died 3 times in a row")
		s.mustCall("session/load", h.params(s.id), nil)
		require.Equal(t, "All is fine.", s.prompt("is all fine?").end(turnLimit).text())
	})
}
