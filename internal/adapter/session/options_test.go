package session_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/testing/fakedroid"
)

// optionsOf reads configOptions out of a result or an update.
func optionsOf(t *testing.T, raw json.RawMessage) map[string]protocol.ConfigOption {
	t.Helper()
	var r struct{ ConfigOptions []protocol.ConfigOption }
	require.NoError(t, json.Unmarshal(raw, &r))
	out := map[string]protocol.ConfigOption{}
	for _, o := range r.ConfigOptions {
		require.Equal(t, "select", o.Type)
		require.True(t, slices.ContainsFunc(o.Options, func(v protocol.OptionValue) bool { return v.Value == o.CurrentValue }), "%s is among the values", o.CurrentValue)
		out[o.ID] = o
	}
	return out
}

// lastUpdate is the last session/update of a kind that came, nil when none did.
func (e *editor) lastUpdate(kind string) json.RawMessage {
	var last json.RawMessage
	for _, m := range e.received() {
		var p struct {
			Update json.RawMessage
		}
		if m.Method == "session/update" && json.Unmarshal(m.Params, &p) == nil && strings.Contains(string(p.Update), `"sessionUpdate":"`+kind+`"`) {
			last = p.Update
		}
	}
	return last
}

func (e *editor) set(id, value string) wireMessage {
	return e.call("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":%q,"type":"select","value":%q,"extra":{"x":1}}`, e.session, id, value))
}

// current is the value of an option as droid has it.
func (e *editor) current() (s stream.Settings) {
	e.inside(func(session *session.Session) { s = session.OptionState().Settings() })
	return s
}

func TestDefaults(t *testing.T) {
	for _, v := range []fakedroid.Version{fakedroid.V099, fakedroid.V0225, fakedroid.Unversioned} {
		t.Run(string(v), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := connect(t, playing(says("hi"), fakedroid.WithVersion(v)))
				e.agent.Config.Defaults = options.Defaults{Mode: stream.ModeAutoLow, Model: "fake-thinker", Effort: "high", FollowUp: options.Steer}
				if v == fakedroid.Unversioned {
					e.agent.Config.Defaults.Effort = "" // the seeds tell no way
				}
				answer := e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)
				options := optionsOf(t, answer.Result)
				require.Equal(t, "fake-thinker", options["model"].CurrentValue)
				require.Equal(t, "steer", options["follow_up"].CurrentValue)
				e.session = e.sessionOf(answer)
				synctest.Wait()
				require.Equal(t, stream.ModeAutoLow, e.current().Mode())
				require.Equal(t, "end_turn", e.run("hello"))
				require.NotContains(t, strings.Join(e.updates(), "\n"), "default", "nothing to tell")
			})
		})
	}
}

// A default that droid changed is reported once.
func TestIgnoredDefaultIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := connect(t, playing(says("hi")))
		e.agent.Config.Defaults = options.Defaults{Model: "no-such-model", Effort: "max"}
		e.beginSession()
		require.Equal(t, "end_turn", e.run("hello"))
		require.Equal(t, "end_turn", e.run("again"))
		all := strings.Join(e.updates(), "\n")
		require.Equal(t, 1, strings.Count(all, `droid does not offer the default model "no-such-model"`))
	})
}

// switchesOf are the options of type boolean in a result or an update, by id, as a
// client reads them.
func switchesOf(t *testing.T, raw json.RawMessage) map[string]bool {
	t.Helper()
	var r struct {
		ConfigOptions []struct {
			ID, Name, Type string
			CurrentValue   json.RawMessage
			Options        json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(raw, &r))
	out := map[string]bool{}
	for _, o := range r.ConfigOptions {
		if o.Type == "boolean" {
			require.Empty(t, o.Options)
			require.NotEmpty(t, o.Name)
			var on bool
			require.NoError(t, json.Unmarshal(o.CurrentValue, &on))
			out[o.ID] = on
		}
	}
	return out
}

func (e *editor) setRaw(id, valueAndType string) wireMessage {
	return e.call("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":%q,%s}`, e.session, id, valueAndType))
}

// declaring connects an editor that declares these capabilities.
func declaring(t *testing.T, capabilities string, start starter) *editor {
	t.Helper()
	e := open(t, start)
	require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`).Error)
	return e
}

const knowsSwitches = `{"session":{"configOptions":{"boolean":{}}}}`

// A client that declares boolean options: automatic compaction is one where droid tells
// it, is switched by a boolean, and shows in every list that follows.
func TestBooleanOption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := declaring(t, knowsSwitches, playing(says("hi"), fakedroid.WithSessions(new(fakedroid.Sessions))))
		answer := e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)
		require.Equal(t, map[string]bool{"auto_compaction": true}, switchesOf(t, answer.Result))
		e.session = e.sessionOf(answer)
		for _, on := range []bool{false, false, true, false} {
			answer = e.setRaw("auto_compaction", fmt.Sprintf(`"type":"boolean","value":%v`, on))
			require.Nil(t, answer.Error)
			require.Equal(t, map[string]bool{"auto_compaction": on}, switchesOf(t, answer.Result))
			require.Equal(t, on, *e.current().AutoCompaction)
		}
		require.Nil(t, e.call("_droid/set_auto_compaction", fmt.Sprintf(`{"sessionId":%q,"enabled":true}`, e.session)).Error)
		require.Equal(t, map[string]bool{"auto_compaction": true}, switchesOf(t, e.lastUpdate("config_option_update")))
		require.Nil(t, e.setRaw("auto_compaction", `"value":false`).Error, "without its type")
		answer = e.call("session/load", sessionParamsOf(e.session))
		require.Equal(t, map[string]bool{"auto_compaction": false}, switchesOf(t, answer.Result), "droid keeps it")

		for _, value := range []string{`"value":"true"`, `"type":"boolean","value":"on"`, `"type":"boolean","value":1`, `"type":"boolean","value":null`, `"type":"boolean"`} {
			answer = e.setRaw("auto_compaction", value)
			require.NotNil(t, answer.Error, value)
			require.Equal(t, -32602, answer.Error.Code)
			require.Contains(t, answer.Error.Message, "value must be true or false")
		}
		answer = e.setRaw("mode", `"type":"boolean","value":true`)
		require.Equal(t, -32602, answer.Error.Code)
		require.Contains(t, answer.Error.Message, "as a string")
	})
}

// Who did not declare it, and whose droid does not tell it, is not offered it and
// cannot set it.
func TestNoBooleanOption(t *testing.T) {
	for name, c := range map[string]struct {
		capabilities string
		version      fakedroid.Version
	}{
		"not declared":    {`{}`, fakedroid.V0225},
		"declared as yes": {`{"session":{"configOptions":{"boolean":true}}}`, fakedroid.V0225},
		"an older droid":  {knowsSwitches, fakedroid.V099},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := declaring(t, c.capabilities, playing(says("hi"), fakedroid.WithVersion(c.version)))
				e.beginSession()
				answer := e.set("follow_up", "steer")
				require.Nil(t, answer.Error)
				require.Empty(t, switchesOf(t, answer.Result))
				answer = e.setRaw("auto_compaction", `"type":"boolean","value":false`)
				require.Equal(t, -32602, answer.Error.Code)
				require.Contains(t, answer.Error.Message, "unknown configId")
			})
		})
	}
}

// TestOptionsBehindTheResponse: a change right after a response that lists the options is sent after it.
func TestOptionsBehindTheResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(line []byte) {
			if strings.Contains(string(line), "update_session_settings") {
				time.Sleep(100 * time.Millisecond)
			}
		}
		e := begin(t, func(int) (*droid.Client, error) { return tappedDroid(slow, says("hi")), nil })
		mode := e.request("session/set_config_option", e.inSession(`,"configId":"mode","value":"auto-high"`))
		time.Sleep(50 * time.Millisecond)
		answered := make(chan struct{})
		e.posts(func(*session.Session) { <-answered })
		time.Sleep(time.Second) // the answer of droid lies in the mail
		e.posts(func(s *session.Session) {
			settings := s.OptionState().Settings()
			spec := "spec"
			settings.AutonomyMode, settings.InteractionMode = &spec, &spec
			s.Show(quirks.SettingsChanged{Settings: settings})
		})
		close(answered)
		synctest.Wait()
		responded, told := -1, -1
		for i, m := range e.received() {
			switch {
			case string(m.ID) == mode:
				responded = i
			case strings.Contains(string(m.Params), "config_option_update"):
				told = i
			}
		}
		require.Greater(t, responded, 0)
		require.Greater(t, told, responded)
	})
}
