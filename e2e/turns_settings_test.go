//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

// modelList is for clients that know models and no config options.
type modelList struct {
	Models struct {
		CurrentModelID  string `json:"currentModelId"`
		AvailableModels []struct {
			ModelID string `json:"modelId"`
			Name    string `json:"name"`
		} `json:"availableModels"`
	} `json:"models"`
}

func (l modelList) ids() (ids []string) {
	for _, m := range l.Models.AvailableModels {
		ids = append(ids, m.ModelID)
	}
	return ids
}

// TestSetModel: a client that knows models and no config options sets one; droid uses
// it, the config option follows, and it holds in a new agent.
func TestSetModel(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hi."})
		h.addModel(t, "second-model", "Second")
		c := startAgent(t, h).initialize()
		var opened struct {
			newSession
			modelList
			optionList
		}
		c.mustCall("session/new", h.params(""), &opened)
		s := session{c, opened.SessionID}
		require.Equal(t, modelserver.ModelID, opened.Models.CurrentModelID)
		require.Equal(t, opened.values("model"), opened.modelList.ids())
		second := ""
		for _, m := range opened.Models.AvailableModels {
			if m.Name == "Second" {
				second = m.ModelID
			}
		}
		require.NotEmpty(t, second)

		from := c.seen()
		c.mustCall("session/set_model", map[string]any{"sessionId": s.id, "modelId": second}, nil)
		s.awaitOption(from, "model", second)
		require.Equal(t, "Hi.", s.prompt("hello").end(turnLimit).text())
		require.Equal(t, "second-model", modelOf(lastRequest(model)))
		_, err := c.call("session/set_model", map[string]any{"sessionId": s.id, "modelId": "no-such"})
		require.NotNil(t, err)
		require.Equal(t, -32602, err.Code)
		require.Contains(t, err.Error(), modelserver.ModelID, "it says what there is")
		c.end(h)

		c = startAgent(t, h).initialize()
		var loaded modelList
		c.mustCall("session/load", h.params(s.id), &loaded)
		require.Equal(t, second, loaded.Models.CurrentModelID)
	})
}

// titleOf returns a session's title in session/list.
func (c *client) titleOf(h home, id string) string {
	c.t.Helper()
	var result struct {
		Sessions []struct{ SessionID, Title string }
	}
	c.mustCall("session/list", map[string]any{"cwd": h.work}, &result)
	for _, s := range result.Sessions {
		if s.SessionID == id {
			return s.Title
		}
	}
	return ""
}

func (c *client) setTitle(id, title string) (stored string) {
	c.t.Helper()
	var result struct{ Title string }
	c.mustCall("session/set_title", map[string]any{"sessionId": id, "title": title}, &result)
	return result.Title
}

// lastTitle is the title of the last session_info_update.
func (c *client) lastTitle() (title string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		if u, ok := asUpdate(l); ok && u.SessionUpdate == "session_info_update" {
			title = u.Title
		}
	}
	return title
}

// TestSetTitle: a session is named before its first prompt and after it, while it is
// open and when it is closed; droid's own title does not come back. A session that
// another agent has open is left alone. A droid that cannot rename says so, and what helps.
func TestSetTitle(t *testing.T) {
	ofAdapter(t)
	notKept(t, "another window can give a title: one agent has the session")
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hi."})
		model.On("again", modelserver.Step{Text: "Still here."})
		c := startAgent(t, h)
		s := c.open(h)
		if !h.has(t, stream.RenamesSessions) {
			require.Equal(t, "Hi.", s.prompt("hello").end(turnLimit).text())
			for range 2 { // open, and then closed
				_, err := c.call("session/set_title", map[string]any{"sessionId": s.id, "title": "x"})
				require.ErrorContains(t, err, "This droid (protocol "+h.protocol(t).String()+") cannot rename a session; droid 0.215 and newer can. Update droid")
				_, _ = c.call("session/close", map[string]any{"sessionId": s.id}) // the second time it is
			}
			require.NotEqual(t, "x", c.titleOf(h, s.id))
			c.mustCall("session/load", h.params(s.id), nil)
			require.Equal(t, "Still here.", s.prompt("again").end(turnLimit).text())
			return
		}
		require.Equal(t, "My own title", c.setTitle(s.id, " My own\n title "))
		require.Equal(t, "Hi.", s.prompt("hello").end(turnLimit).text())
		require.Equal(t, "Hi.", s.prompt("hello").end(turnLimit).text())
		require.Equal(t, "My own title", c.titleOf(h, s.id))
		require.Equal(t, "My own title", c.lastTitle())
		require.Equal(t, "Another", c.setTitle(s.id, "Another"))
		require.Equal(t, "Still here.", s.prompt("again").end(turnLimit).text())
		require.Equal(t, "Another", c.titleOf(h, s.id))
		require.Equal(t, "Another", c.lastTitle())

		other := startAgent(t, h).initialize()
		_, err := other.call("session/set_title", map[string]any{"sessionId": s.id, "title": "Theirs"})
		require.NotNil(t, err)
		require.Contains(t, err.Error(), "open in another window")

		require.NoError(t, c.stdin.Close())
		<-c.exited
		require.Equal(t, "While closed", other.setTitle(s.id, "While closed"))
		require.Equal(t, "While closed", other.titleOf(h, s.id))
		require.Eventually(t, func() bool {
			droids := 0
			for _, p := range h.processes(t) {
				if p.droid {
					droids++
				}
			}
			return droids == 1
		}, 20*time.Second, 50*time.Millisecond, "the droid that waits for a session is left, the one that wrote the title is not")

		c, s = other, session{other, s.id}
		said, _ := c.replay(h, s.id)
		require.Len(t, said, 6, "nothing of it is lost")
		require.Equal(t, "Still here.", s.prompt("again").end(turnLimit).text())
		require.Equal(t, "While closed", c.titleOf(h, s.id))
		_, err = c.call("session/set_title", map[string]any{"sessionId": "no-such-session", "title": "x"})
		require.Equal(t, codeNotFound, err.Code)
		_, err = c.call("session/set_title", map[string]any{"sessionId": s.id, "title": " \n"})
		require.Equal(t, -32602, err.Code)
	})
}

// TestBooleanOptions: a client that declares boolean options switches automatic
// compaction where droid tells it (0.215); droid keeps it in the session.
func TestBooleanOptions(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hi."})
		declared := map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{
			"session": map[string]any{"configOptions": map[string]any{"boolean": map[string]any{}}}}}
		switchOf := func(raw json.RawMessage) *bool {
			var r struct {
				ConfigOptions []struct {
					ID, Type     string
					CurrentValue json.RawMessage
				}
			}
			require.NoError(t, json.Unmarshal(raw, &r))
			for _, o := range r.ConfigOptions {
				if o.Type == "boolean" {
					require.Equal(t, "auto_compaction", o.ID)
					var on bool
					require.NoError(t, json.Unmarshal(o.CurrentValue, &on))
					return &on
				}
			}
			return nil
		}
		c := startAgent(t, h)
		c.mustCall("initialize", declared, nil)
		raw, err := c.call("session/new", h.params(""))
		require.Nil(t, err)
		var opened newSession
		require.NoError(t, json.Unmarshal(raw, &opened))
		set := map[string]any{"sessionId": opened.SessionID, "configId": "auto_compaction", "type": "boolean", "value": false}
		if !h.has(t, stream.SwitchesAutoCompaction) {
			require.Nil(t, switchOf(raw))
			_, err = c.call("session/set_config_option", set)
			require.Equal(t, -32602, err.Code)
			return
		}
		require.True(t, *switchOf(raw))
		raw, err = c.call("session/set_config_option", set)
		require.Nil(t, err)
		require.False(t, *switchOf(raw))
		require.Equal(t, "Hi.", session{c, opened.SessionID}.prompt("hello").end(turnLimit).text())
		c.end(h)

		c = startAgent(t, h)
		c.mustCall("initialize", declared, nil)
		raw, err = c.call("session/load", h.params(opened.SessionID))
		require.Nil(t, err)
		require.False(t, *switchOf(raw), "it holds")
	})
}

// TestUsageAndToolNames: the response tells what the turn took, where droid tells that
// by then (0.215), and a tool call names its tool.
func TestUsageAndToolNames(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hi."})
		model.On("run", modelserver.Step{Tools: []modelserver.ToolCall{execute("c", "echo hi")}}, modelserver.Step{Text: "Done."})
		c := startAgent(t, h)
		s := c.open(h)
		c.onPermission(allowOnce)
		late := !h.has(t, stream.TellsTurnEnd)
		for _, turn := range []struct {
			prompt string
			calls  int64
		}{{"hello", 1}, {"run", 2}, {"hello", 1}} {
			id := s.prompt(turn.prompt)
			_, l := c.response(id.request, turnLimit)
			var r struct {
				Usage *struct{ TotalTokens, InputTokens, OutputTokens int64 }
			}
			require.NoError(t, json.Unmarshal(l.Result, &r))
			if late {
				require.Nil(t, r.Usage, "droid tells it half a second later")
				continue
			}
			require.NotNil(t, r.Usage)
			require.Equal(t, []int64{110 * turn.calls, 100 * turn.calls, 10 * turn.calls},
				[]int64{r.Usage.TotalTokens, r.Usage.InputTokens, r.Usage.OutputTokens}, "of this turn: %s", turn.prompt)
		}
		names := c.toolNames(0)
		require.Equal(t, []string{"Execute"}, names)
		from := c.seen()
		c.mustCall("session/load", h.params(s.id), nil)
		require.Equal(t, names, c.toolNames(from), "in the history as well")
	})
}

// toolNames are the names in the tool_calls since a line.
func (c *client) toolNames(from int) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines[from:] {
		if u, ok := asUpdate(l); ok && u.SessionUpdate == "tool_call" {
			var call struct{ Name string }
			_ = json.Unmarshal([]byte(u.raw), &call) // asUpdate has read it
			names = append(names, call.Name)
		}
	}
	return names
}

// TestCompactionSummary: a client that declares session.compaction reads what the
// conversation became, as the model wrote it; 0.99 needs a login and says so.
func TestCompactionSummary(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hi."})
		c := startAgent(t, h)
		c.mustCall("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"session": map[string]any{"compaction": map[string]any{}}}}, nil)
		var opened newSession
		c.mustCall("session/new", h.params(""), &opened)
		s := session{c, opened.SessionID}
		require.Equal(t, "Hi.", s.prompt("hello").end(turnLimit).text())
		end := s.prompt("/compact").end(turnLimit)
		var last struct {
			Status, Error string
			Summary       []struct{ Type, Text string }
		}
		for _, u := range end.Updates {
			if u.SessionUpdate == "compaction_update" {
				require.NoError(t, json.Unmarshal([]byte(u.raw), &last))
			}
		}
		if !h.does(t, stream.CompactsWithoutLogin) {
			require.Equal(t, "failed", last.Status)
			require.Contains(t, last.Error, "login")
			return
		}
		require.Equal(t, "completed", last.Status)
		require.Len(t, last.Summary, 1)
		require.NotEmpty(t, last.Summary[0].Text)

		// A load shows it, as words of ours that the model does not get, and what it says of /fork is so.
		from := c.seen()
		c.mustCall("session/load", h.params(s.id), nil)
		shown := ""
		for _, l := range c.since(from) {
			if u, ok := asUpdate(l); ok && u.SessionUpdate == "agent_message_chunk" {
				shown += l.raw
			}
		}
		require.Contains(t, shown, encoded(t, last.Summary[0].Text))
		require.Contains(t, shown, "`/fork before` makes")
		require.Equal(t, "Hi.", s.prompt("hello").end(turnLimit).text())
		require.False(t, modelGot(model, "in place of which the model has it"))
		require.Contains(t, s.prompt("/fork before").end(turnLimit).text(), "The copy is the session")
	})
}

// encoded is a text as it stands in JSON, without the quotes.
func encoded(t *testing.T, text string) string {
	t.Helper()
	data, err := json.Marshal(text)
	require.NoError(t, err)
	return strings.Trim(string(data), `"`)
}
