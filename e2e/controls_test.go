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

	"droid-acp/internal/modelserver"
)

// option is one config option as a client sees it.
type option struct {
	ID           string `json:"id"`
	Category     string `json:"category"`
	CurrentValue string `json:"currentValue"`
	Options      []struct {
		Value string `json:"value"`
	} `json:"options"`
}

type optionList struct {
	ConfigOptions []option `json:"configOptions"`
}

func (l optionList) current(id string) string {
	for _, o := range l.ConfigOptions {
		if o.ID == id {
			return o.CurrentValue
		}
	}
	return ""
}

func (l optionList) values(id string) (values []string) {
	for _, o := range l.ConfigOptions {
		if o.ID == id {
			for _, v := range o.Options {
				values = append(values, v.Value)
			}
		}
	}
	return values
}

// addModel adds a second custom model to droid's settings, on the same server.
func (h home) addModel(t *testing.T, name, display string) {
	t.Helper()
	path := filepath.Join(h.dir, ".factory", "settings.json")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var settings map[string]any
	require.NoError(t, json.Unmarshal(data, &settings))
	models := settings["customModels"].([]any)
	second := map[string]any{}
	for k, v := range models[0].(map[string]any) {
		second[k] = v
	}
	second["model"], second["displayName"] = name, display
	settings["customModels"] = append(models, second)
	data, err = json.Marshal(settings)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// set sets a config option and returns the full list that came back.
func (s session) set(id, value string) optionList {
	s.t.Helper()
	var list optionList
	s.mustCall("session/set_config_option", map[string]any{"sessionId": s.id, "configId": id, "value": value}, &list)
	require.Equal(s.t, value, list.current(id))
	return list
}

// awaitStored waits until droid's own file says this of the session.
func (s session) awaitStored(h home, key, value string) {
	s.t.Helper()
	pattern := filepath.Join(h.dir, ".factory", "sessions", "*", s.id+".settings.json")
	var last string
	require.Eventually(s.t, func() bool {
		files, _ := filepath.Glob(pattern)
		if len(files) != 1 {
			return false
		}
		data, _ := os.ReadFile(files[0])
		var settings map[string]any
		_ = json.Unmarshal(data, &settings) // half written: the next look
		last, _ = settings[key].(string)
		return last == value
	}, 10*time.Second, 20*time.Millisecond, "droid keeps %s=%s, not %s", key, value, last)
}

// awaitOption waits for a config_option_update with this value.
func (s session) awaitOption(from int, id, value string) {
	s.t.Helper()
	s.await("config option "+id+"="+value, from, 10*time.Second, func(l line) bool {
		var p struct {
			Update struct {
				SessionUpdate string
				optionList
			}
		}
		return l.Method == "session/update" && json.Unmarshal(l.Params, &p) == nil &&
			p.Update.SessionUpdate == "config_option_update" && p.Update.current(id) == value
	})
}

// lastRequest is the last model request of the conversation.
func lastRequest(model *modelserver.Server) (r modelserver.Request) {
	for _, one := range model.Requests() {
		if !one.Side {
			r = one
		}
	}
	return r
}

func modelOf(r modelserver.Request) string {
	var body struct{ Model string }
	_ = json.Unmarshal(r.Body, &body) // "" is no model
	return body.Model
}

// TestModesAndEfforts: every mode by both methods, every effort of a model; droid
// has them afterwards, and the other surface was told.
func TestModesAndEfforts(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("one turn", modelserver.Step{Text: "Kept."})
		c := startAgent(t, h)
		c.initialize()
		var opened struct {
			newSession
			optionList
		}
		c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, &opened)
		s := session{c, opened.SessionID}
		require.Equal(t, modelserver.ModelID, opened.current("model"))
		require.Equal(t, "end_turn", s.prompt("one turn").end(turnLimit).Stop, "droid stores a session with its first turn")

		modes := opened.values("mode")
		require.Equal(t, []string{"normal", "spec", "auto-low", "auto-medium", "auto-high"}, modes)
		for _, mode := range append(modes[1:], modes[0]) {
			from := s.seen()
			s.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": mode}, nil)
			s.awaitOption(from, "mode", mode)
			s.awaitStored(h, "autonomyMode", mode)
		}
		for _, mode := range modes[1:] {
			from := s.seen()
			s.set("mode", mode)
			s.await("mode "+mode, from, 5*time.Second, func(l line) bool {
				u, ok := asUpdate(l)
				return ok && u.SessionUpdate == "current_mode_update" && u.CurrentModeID == mode
			})
			s.awaitStored(h, "autonomyMode", mode)
		}

		const thinker = "claude-opus-4-6" // offered by both versions; no call is made
		require.Contains(t, opened.values("model"), thinker)
		efforts := s.set("model", thinker).values("reasoning_effort")
		require.Contains(t, efforts, "high")
		for _, effort := range efforts {
			s.set("reasoning_effort", effort)
			s.awaitStored(h, "reasoningEffort", effort)
		}
		s.awaitStored(h, "model", thinker)
		_, err := s.call("session/set_config_option", map[string]any{"sessionId": s.id, "configId": "reasoning_effort", "value": "minimal"})
		require.NotNil(t, err, "the model does not support it")
	})
}

// The behaviour follows the mode: in auto-low a file is created without asking,
// in spec mode it is refused.
func TestModeDecides(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		create := func(id, name string) modelserver.Step {
			return modelserver.Step{Tools: []modelserver.ToolCall{{ID: id, Name: "Create", Args: map[string]any{
				"file_path": filepath.Join(h.work, name), "content": "x"}}}}
		}
		model.On("free", create("a", "free"), modelserver.Step{Text: "Created."})
		model.On("forbidden", create("b", "forbidden"), modelserver.Step{Text: "Not created."})
		c := startAgent(t, h)
		s := c.open(h)
		s.set("mode", "auto-low")
		require.Equal(t, "end_turn", s.prompt("free").end(turnLimit).Stop)
		require.FileExists(t, filepath.Join(h.work, "free"))
		s.set("mode", "spec")
		require.Equal(t, []string{"failed"}, s.prompt("forbidden").end(turnLimit).tools())
		require.NoFileExists(t, filepath.Join(h.work, "forbidden"))
		require.Empty(t, c.asked())
	})
}

// A switch of the model reaches the model server; an unknown one droid never sees.
func TestModelSwitch(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h.addModel(t, "scripted-2", "Second")
		model.On("who", modelserver.Step{Text: "Me."})
		s := startAgent(t, h).open(h)
		s.prompt("who are you").end(turnLimit)
		require.Equal(t, "scripted-1", modelOf(lastRequest(model)))
		var second string
		for _, id := range s.set("follow_up", "queue").values("model") {
			if strings.HasPrefix(id, "custom:Second") {
				second = id
			}
		}
		require.NotEmpty(t, second)
		s.set("model", second)
		s.prompt("who are you now").end(turnLimit)
		require.Equal(t, "scripted-2", modelOf(lastRequest(model)))
		_, err := s.call("session/set_config_option", map[string]any{"sessionId": s.id, "configId": "model", "value": "no-such-model"})
		require.NotNil(t, err)
		require.Equal(t, -32602, err.Code)
		s.prompt("who are you still").end(turnLimit)
		require.Equal(t, "scripted-2", modelOf(lastRequest(model)))
	})
}

// Defaults by flag reach droid, which ignores its own flags in this mode.
func TestDefaultsByFlag(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h.addModel(t, "scripted-2", "Second")
		model.On("who", modelserver.Step{Text: "Me."})
		h.env = append(h.env, "DROID_ACP_MODEL=custom:Second-1")
		c := startAgent(t, h, "--mode", "auto-low")
		c.initialize()
		var opened struct {
			newSession
			optionList
		}
		c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, &opened)
		require.Equal(t, "auto-low", opened.Modes.CurrentModeID)
		require.Equal(t, "auto-low", opened.current("mode"))
		// Ids of custom models differ by version; a wrong one is told.
		end := session{c, opened.SessionID}.prompt("who").end(turnLimit)
		if opened.current("model") == "custom:Second-1" && modelOf(lastRequest(model)) == "scripted-2" {
			return
		}
		told := ""
		for _, u := range end.Updates {
			told += u.text()
		}
		require.Contains(t, told, "custom:Second-1")
	})
}
