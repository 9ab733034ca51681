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
// The settings called more are switched on.
func (h home) addModel(t *testing.T, name, display string, more ...string) {
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
	for _, setting := range more {
		second[setting] = true
	}
	settings["customModels"] = append(models, second)
	data, err = json.Marshal(settings)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// set sets a config option and returns the full list in the answer.
func (s session) set(id, value string) optionList {
	s.t.Helper()
	var list optionList
	s.mustCall("session/set_config_option", map[string]any{"sessionId": s.id, "configId": id, "value": value}, &list)
	require.Equal(s.t, value, list.current(id))
	return list
}

// awaitStored waits until droid's own file has this value for the session.
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
		_ = json.Unmarshal(data, &settings) // half written: read again
		last, _ = settings[key].(string)
		return last == value
	}, turnLimit, 20*time.Millisecond, "droid keeps %s=%s, not %s", key, value, last)
}

// awaitOption waits for a config_option_update with this value.
func (s session) awaitOption(from int, id, value string) {
	s.t.Helper()
	s.await("config option "+id+"="+value, from, turnLimit, func(l line) bool {
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

// lastRequest returns the last model request of the conversation.
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

// What a session's options do, in one session.
func TestOptions(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("one turn", modelserver.Step{Text: "Kept."})
		c := startAgent(t, h).initialize()
		var opened struct {
			newSession
			optionList
		}
		c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, &opened)
		s := session{c, opened.SessionID}
		require.Equal(t, modelserver.ModelID, opened.current("model"))
		require.Equal(t, "end_turn", s.prompt("one turn").end(turnLimit).Stop, "droid stores a session with its first turn")
		const thinker = "claude-opus-4-6" // has efforts in all versions; no call is made

		// The behaviour follows the mode: in auto-low a file is created without asking, in spec mode it is refused.
		t.Run("the mode decides", func(t *testing.T) {
			create := func(id, name string) modelserver.Step {
				return modelserver.Step{Tools: []modelserver.ToolCall{{ID: id, Name: "Create", Args: map[string]any{
					"file_path": filepath.Join(h.work, name), "content": "x"}}}}
			}
			model.On("free", create("a", "free"), modelserver.Step{Text: "Created."})
			model.On("forbidden", create("b", "forbidden"), modelserver.Step{Text: "Not created."})
			s.set("mode", "auto-low")
			require.Equal(t, "end_turn", s.prompt("free").end(turnLimit).Stop)
			require.FileExists(t, filepath.Join(h.work, "free"))
			s.set("mode", "spec")
			require.Equal(t, []string{"failed"}, s.prompt("forbidden").end(turnLimit).tools())
			require.NoFileExists(t, filepath.Join(h.work, "forbidden"))
			require.Empty(t, c.asked())
			s.set("mode", "normal")
		})
		// Every mode is set by both methods, and every effort of a model; droid has them afterwards, and the other method's notification is
		// sent.
		t.Run("modes and efforts", func(t *testing.T) {
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
				s.await("mode "+mode, from, turnLimit, func(l line) bool {
					u, ok := asUpdate(l)
					return ok && u.SessionUpdate == "current_mode_update" && u.CurrentModeID == mode
				})
				s.awaitStored(h, "autonomyMode", mode)
			}

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
		// Every offered value can be set, and the current one can be set again, also after a load, as clients do that restore stored values.
		t.Run("every offered value", func(t *testing.T) {
			s.set("model", thinker)
			offered := s.set("spec_model", thinker)
			require.Len(t, offered.ConfigOptions, 6)
			tried := 0
			for _, o := range offered.ConfigOptions {
				for _, value := range o.Options {
					s.set(o.ID, value.Value)
					tried++
				}
				s.set(o.ID, o.CurrentValue)
			}
			t.Logf("%d values", tried)
			again := func() optionList {
				var loaded optionList
				s.mustCall("session/load", h.params(s.id), &loaded)
				for _, o := range loaded.ConfigOptions {
					s.set(o.ID, o.CurrentValue)
				}
				return loaded
			}
			s.set("spec_model", thinker)
			s.set("spec_reasoning_effort", "low")
			s.set("spec_model", "same")
			require.Equal(t, "same", again().current("spec_model"))
			require.NotContains(t, again().ids(), "spec_reasoning_effort")
		})
	})
}

func (l optionList) ids() (ids []string) {
	for _, o := range l.ConfigOptions {
		ids = append(ids, o.ID)
	}
	return ids
}

// Defaults by flag reach droid, which ignores its own flags in this mode.
func TestDefaultsByFlag(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h.addModel(t, "scripted-2", "Second")
		model.On("who", modelserver.Step{Text: "Me."})
		h.env = append(h.env, "DROID_ACP_MODEL=custom:Second-1")
		c := startAgent(t, h, "--mode", "auto-low").initialize()
		var opened struct {
			newSession
			optionList
		}
		c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, &opened)
		require.Equal(t, "auto-low", opened.Modes.CurrentModeID)
		require.Equal(t, "auto-low", opened.current("mode"))
		// IDs of custom models differ by version; a wrong one is reported.
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

// Two prompts 50 ms apart, with each follow-up behaviour, at three moments: each ends once, and the model gets both texts in order and
// nothing twice (quirk 2).
func TestFollowUps(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		s := startAgent(t, h).open(h)
		for _, behaviour := range []string{"queue", "steer"} {
			for _, moment := range []string{"streaming", "tool", "permission"} {
				t.Run(behaviour+"_"+moment, func(t *testing.T) { s.followsUp(t, model, behaviour, moment) })
			}
		}
	})
}

func (s session) followsUp(t *testing.T, model *modelserver.Server, behaviour, moment string) {
	begin, then := "begin "+behaviour+" "+moment, "then "+behaviour+" "+moment
	first := modelserver.Step{Text: "One two three four five six seven eight.", Delay: 100 * time.Millisecond}
	if moment != "streaming" {
		first = modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute("a-"+behaviour+"-"+moment, "sleep 1; echo ran")}}
	}
	model.On(begin, first, modelserver.Step{Text: "Ran."})
	model.On(then, modelserver.Step{Text: "Followed."})
	s.onPermission(allowOnce)
	s.set("follow_up", behaviour)
	s.set("mode", map[bool]string{true: "auto-high", false: "normal"}[moment == "tool"])
	if moment == "permission" {
		s.onPermission(noAnswer)
	}
	one := s.prompt(begin)
	switch moment {
	case "streaming":
		one.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
	case "tool":
		one.awaitUpdate("a running tool", func(u update) bool { return u.Status == "in_progress" })
	case "permission":
		s.await("a permission request", one.from, turnLimit, func(l line) bool { return l.Method == "session/request_permission" })
	}
	two := s.prompt(then)
	if moment == "permission" {
		asked := s.asked()
		last := asked[len(asked)-1]
		s.answer(last.Request, allowOnce(last))
	}
	require.Equal(t, "end_turn", one.end(turnLimit).Stop)
	end := two.done()
	if moment == "streaming" { // two answers that nothing stands between
		require.True(t, strings.HasSuffix(end.text(), "eight.\n\nFollowed."), "%q", end.text())
	}
	for _, u := range s.updatesFrom(one.from) {
		require.NotContains(t, u.text(), "empty answer")
	}

	var said []string
	for _, m := range lastRequest(model).Messages {
		for _, text := range []string{begin, then} {
			if m.Role == "user" && strings.Contains(m.Text(), text) {
				said = append(said, text)
			}
		}
	}
	require.Equal(t, []string{begin, then}, said)
}

// Cancels of prompts that are steered into a turn, in one session (quirk 2).
func TestCancelWithFollowUps(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("after", modelserver.Step{Text: "Still here."})
		s := startAgent(t, h).open(h)
		s.set("follow_up", "steer")
		begins := func(t *testing.T, words int) turn {
			model.On("begin", modelserver.Step{Text: strings.Repeat("word ", words), Delay: 100 * time.Millisecond})
			one := s.prompt("begin it")
			one.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
			return one
		}
		// Cancelling only the running request: droid drops the prompt steered behind it, which is sent again and answered.
		t.Run("the request", func(t *testing.T) {
			model.On("then", modelserver.Step{Text: "Done, too."})
			one, two := begins(t, 100), s.prompt("then that")
			s.notify("$/cancel_request", map[string]any{"requestId": one.request})
			require.Equal(t, "cancelled", one.end(turnLimit).Stop)
			end := two.done()
			require.Contains(t, end.text(), "Done, too.")
			require.NotContains(t, s.text(one.from), "discarded", "it was sent again")
		})
		// A cancel while the steered prompt waits, or is being sent to droid, ends both; the next prompt works. (droid may have added the
		// waiting one to its history.)
		t.Run("one", func(t *testing.T) {
			model.On("then", modelserver.Step{Text: "Said in vain."})
			for _, apart := range []time.Duration{0, 1, 2, 4, 8} {
				one, two := begins(t, 100), s.prompt("then that")
				time.Sleep(apart * time.Millisecond)
				s.notify("session/cancel", map[string]any{"sessionId": s.id})
				// A droid that ignores the interrupt is killed after 8 s.
				require.Equal(t, "cancelled", one.end(12*time.Second).Stop)
				require.Equal(t, "cancelled", two.end(12*time.Second).Stop)
				require.Equal(t, "Still here.", s.prompt("after").end(turnLimit).text())
			}
		})
		// Of several prompts that wait in droid, an interrupt drops all in one message: each ends, without droid being killed for it.
		t.Run("two", func(t *testing.T) {
			one, two, three := begins(t, 300), s.prompt("then that"), s.prompt("at last this")
			time.Sleep(500 * time.Millisecond) // droid has them
			begin := time.Now()
			s.notify("session/cancel", map[string]any{"sessionId": s.id})
			for _, turn := range []turn{one, two, three} {
				end := turn.end(turnLimit)
				require.Equal(t, "cancelled", end.Stop)
				require.Less(t, end.At.Sub(begin), cancelLimit)
			}
		})
	})
}

// commands returns the names in the last available_commands_update.
func (s session) commands() (names []string) {
	s.t.Helper()
	_, l := s.await("the commands", 0, turnLimit, func(l line) bool { return strings.Contains(l.raw, `"available_commands_update"`) })
	var p struct {
		Update struct{ AvailableCommands []struct{ Name string } }
	}
	require.NoError(s.t, json.Unmarshal(l.Params, &p))
	for _, c := range p.Update.AvailableCommands {
		names = append(names, c.Name)
	}
	return names
}

// TestCommands runs each command with both versions; if droid has no call for it, the answer says so.
func TestCommands(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		commands := filepath.Join(h.dir, ".factory", "commands")
		require.NoError(t, os.MkdirAll(commands, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(commands, "greet.md"), []byte("---\ndescription: Greets\n---\nSay hello to $ARGUMENTS now.\n"), 0o600))
		create := modelserver.ToolCall{ID: "c", Name: "Create", Args: map[string]any{"file_path": filepath.Join(h.work, "made"), "content": "new"}}
		model.On("first", modelserver.Step{Thinking: "Hm. ", Text: "One. ", Tools: []modelserver.ToolCall{create}}, modelserver.Step{Text: "Made."})
		model.On("zweitens", modelserver.Step{Text: "Two."})
		model.On("Say hello to Bob", modelserver.Step{Text: "Hello Bob."})
		model.On("/nothing", modelserver.Step{Text: "No such command."})
		model.On("after", modelserver.Step{Text: "Still here."})
		s := startAgent(t, h, "--mode", "auto-high").open(h)
		require.Subset(t, s.commands(), []string{"compact", "rename", "fork", "rewind", "model", "mode", "effort", "context", "usage", "mcp", "sessions", "export", "status", "help"})
		require.Equal(t, "One. \n\nMade.", s.say("first"))
		require.Equal(t, "Two.", s.say("zweitens"))
		if h.version == newDroid {
			require.Contains(t, s.commands(), "greet")
			require.Equal(t, "Hello Bob.", s.say("/greet Bob"))
		} else {
			require.NotContains(t, s.commands(), "greet")
		}
		require.Equal(t, "No such command.", s.say("/nothing here"))
		require.Contains(t, s.say("/help"), "/compact")
		require.Contains(t, s.say("/status"), s.id)
		require.Contains(t, s.say("/model"), modelserver.ModelID)
		require.Contains(t, s.say("/mode auto-low"), "Mode: Auto (Low).")
		require.Contains(t, s.say("/mode yolo"), "There is no mode “yolo”")
		require.Contains(t, s.say("/effort"), "no reasoning effort to choose")
		require.Contains(t, s.say("/usage"), "| all calls |")
		require.Contains(t, s.say("/mcp"), "no MCP servers")
		require.Contains(t, s.say("/mcp login nowhere"), "Server not found")
		require.NotEmpty(t, s.say("/sessions"))
		require.Contains(t, s.say("/fork"), "The copy is the session")
		if !h.has(t, stream.RenamesSessions) {
			answer := s.say("/rename A new name")
			require.Contains(t, answer, "The session was not renamed: This droid (protocol ")
			require.Contains(t, answer, "cannot rename a session; droid 0.215 and newer can. Update droid")
		} else {
			require.Contains(t, s.say("/rename A new name"), "called “A new name” now")
		}
		if h.version == newDroid {
			require.Contains(t, s.say("/context"), "System prompt")
			require.NotContains(t, s.say("/status"), "cannot")
		} else {
			require.Contains(t, s.say("/context"), "droid 0.215 and newer can. Update droid")
			require.Contains(t, s.say("/status"), "cannot ")
		}
		require.Contains(t, s.say("/export out.html"), "out.html")
		page, err := os.ReadFile(filepath.Join(h.work, "out.html"))
		require.NoError(t, err)
		for _, text := range []string{"<p>One.</p>", "<p>Hm.</p>", ">+new", "<p>Two.</p>"} {
			require.Contains(t, string(page), text)
		}
		require.NotRegexp(t, `(src|href)="[^d#]|<script|url\(`, string(page), "nothing to load")

		require.Contains(t, s.say("/rewind"), "2. zweitens")
		require.FileExists(t, filepath.Join(h.work, "made"))
		s.onPermission(allowOnce)
		require.Contains(t, s.say("/rewind 1 files"), "deleted: 1")
		require.NoFileExists(t, filepath.Join(h.work, "made"))
		require.Equal(t, "Still here.", s.say("after"))
		for _, m := range lastRequest(model).Messages {
			require.NotContains(t, m.Text(), "zweitens", "the model no longer sees it")
		}
		if !h.does(t, stream.CompactsWithoutLogin) {
			require.Contains(t, s.say("/compact"), "login")
		} else {
			require.Contains(t, s.say("/compact"), "became a summary")
			require.Equal(t, "Still here.", s.say("after"))
		}
		// The process is killed: the next prompt continues in the successor session.
		h.killDroid(t)
		end := s.prompt("after").end(turnLimit)
		if end.Err != nil { // it was sent before the loss was noticed
			require.Contains(t, end.Err.Message, "droid_")
			end = s.prompt("after").end(turnLimit)
		}
		require.Equal(t, "Still here.", end.text())
		for _, m := range lastRequest(model).Messages {
			require.NotContains(t, m.Text(), "zweitens")
		}
	})
}

// While an MCP server connects, 0.99 does not list them, for up to a minute. A prompt after a cancelled /mcp does not wait for that (quirk
// 12).
func TestCancelledCommandHoldsNoPrompt(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".factory", "mcp.json"),
			[]byte(`{"mcpServers":{"mute":{"type":"stdio","command":"sleep","args":["300"]}}}`), 0o600))
		model.On("hello", modelserver.Step{Text: "Hello."})
		s := startAgent(t, h).open(h)
		listing := s.prompt("/mcp")
		if h.version == oldestDroid {
			time.Sleep(300 * time.Millisecond) // droid has the question and leaves it open
		}
		s.notify("session/cancel", map[string]any{"sessionId": s.id})
		listing.end(turnLimit) // newer ones answer at once
		require.Equal(t, "Hello.", s.prompt("hello").end(20*time.Second).text())
	})
}

// Programs read and set what the extension methods offer.
func TestExtensionMethods(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hi", modelserver.Step{Text: "Hi there."})
		s := startAgent(t, h).open(h)
		s.prompt("hi").end(turnLimit)
		params := map[string]any{"sessionId": s.id, "enabled": false, "path": "out.html"}
		for name, want := range map[string]string{
			"state": s.id, "stats": `"inputTokens"`, "messages": "Hi there.", "last_assistant_text": `{"text":"Hi there."}`,
			"rewind_points": `"text":"hi"`, "commands": `"export"`, "models": modelserver.ModelID, "export": "out.html",
		} {
			var result json.RawMessage
			s.mustCall("_droid/"+name, params, &result)
			require.Contains(t, string(result), want, name)
		}
		_, err := s.call("_droid/set_auto_compaction", params)
		if h.version == newDroid {
			require.Nil(t, err)
		} else {
			require.Contains(t, err.Error(), "did not change automatic compaction")
		}
		require.Equal(t, "end_turn", s.prompt("hi again").end(turnLimit).Stop)
	})
}
