package fakedroid

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The orders are those of 06_exec_permission and 11_permission_cancel of both
// versions, without repeats of a name.
func TestToolTurnInDroidsOrder(t *testing.T) {
	tests := []struct {
		name    string
		version Version
		option  string
		want    string
	}{
		{"0.225 allowed", V0225, "proceed_once",
			"RESP S:streaming_assistant_message CM user S:thinking S:streaming_assistant_message assistant_text_delta " +
				"assistant_text_complete tool_call CM assistant S:executing_tool tool_execution_phase_changed " +
				"S:waiting_for_tool_confirmation request_permission S:executing_tool permission_resolved " +
				"tool_execution_phase_changed session_token_usage_changed tool_progress_update tool_result " +
				"S:streaming_assistant_message S:thinking S:streaming_assistant_message assistant_text_delta " +
				"assistant_text_complete CM assistant session_token_usage_changed agent_turn_completed S:idle"},
		{"0.99 allowed", V099, "proceed_once",
			"RESP S:streaming_assistant_message CM user session_title_updated assistant_text_delta tool_call CM assistant " +
				"S:executing_tool S:waiting_for_tool_confirmation request_permission S:streaming_assistant_message " +
				"permission_resolved tool_progress_update tool_call tool_result S:streaming_assistant_message " +
				"assistant_text_delta CM assistant S:idle session_token_usage_changed"},
		{"0.225 refused", V0225, "cancel",
			"RESP S:streaming_assistant_message CM user S:thinking S:streaming_assistant_message assistant_text_delta " +
				"assistant_text_complete tool_call CM assistant S:executing_tool tool_execution_phase_changed " +
				"S:waiting_for_tool_confirmation request_permission S:streaming_assistant_message permission_resolved " +
				"tool_result agent_turn_completed S:idle"},
		{"0.99 refused", V099, "cancel",
			"RESP S:streaming_assistant_message CM user session_title_updated assistant_text_delta tool_call CM assistant " +
				"S:executing_tool S:waiting_for_tool_confirmation request_permission S:streaming_assistant_message " +
				"permission_resolved tool_call tool_result S:idle session_token_usage_changed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, EachPrompt(touchScript), WithVersion(tt.version))
			c.init(nil)
			c.request("add_user_message", Fields{"text": "run it"})
			c.answer(c.until("request_permission"), tt.option)
			c.until("S:idle")
			if tt.version == V099 {
				c.next()
			}
			require.Equal(t, tt.want, strings.Join(withoutRepeats(c.seen), " "))
			require.NoError(t, c.finish())
		})
	}
}

// touchScript plays one turn with one command.
func touchScript(d *Droid, _ Prompt) error {
	err := d.Use("", "Let me run it. ", Tool{
		Name: "Execute", Input: Fields{"command": "touch zz1"}, Confirmation: "exec", Impact: "medium",
		Details: Fields{"fullCommand": "touch zz1"}, Progress: []string{""}, Result: "done",
	})
	if err != nil {
		return err
	}
	return d.Say("", "All done.")
}

func withoutRepeats(names []string) []string {
	var out []string
	for _, n := range names {
		if len(out) == 0 || out[len(out)-1] != n {
			out = append(out, n)
		}
	}
	return out
}

func TestInterruptInDroidsOrder(t *testing.T) {
	tests := []struct {
		name    string
		version Version
		script  func(*Droid) error // body of the turn
		at      string             // message at which the client interrupts
		want    string             // from there on
	}{
		{"0.225 mid-stream", V0225, func(d *Droid) error {
			return inOrder(func() error { return d.stream("assistant", "m", 0, "one") }, d.Silence)
		},
			"assistant_text_complete", "CM system CM system RESP agent_turn_completed S:idle"},
		{"0.99 mid-stream", V099, func(d *Droid) error {
			return inOrder(func() error { return d.stream("assistant", "m", 0, "one") }, d.Silence)
		},
			"assistant_text_delta", "CM system RESP CM system S:idle"},
		{"0.225 before the first token", V0225, (*Droid).Silence, "CM user", "RESP CM system CM system agent_turn_completed S:idle"},
		{"0.99 before the first token", V099, (*Droid).Silence, "session_title_updated", "CM system RESP CM system CM system S:idle"},
		{"0.225 mid-tool", V0225, slowTool, "tool_progress_update", "tool_result RESP tool_result agent_turn_completed S:idle"},
		{"0.99 mid-tool", V099, slowTool, "tool_progress_update", "tool_call tool_result CM system RESP tool_result S:idle"},
		{"0.225 permission", V0225, askingTool, "request_permission", "permission_resolved tool_result tool_result RESP agent_turn_completed S:idle"},
		{"0.99 permission", V099, askingTool, "request_permission", "permission_resolved tool_call tool_result CM system RESP S:idle"},
		{"0.225 question", V0225, askingUser, "ask_user", "tool_result RESP tool_result agent_turn_completed S:idle"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, EachPrompt(func(d *Droid, _ Prompt) error { return tt.script(d) }), WithVersion(tt.version))
			c.init(nil)
			c.request("add_user_message", Fields{"text": "go"})
			c.until("CM user")
			if last := c.seen[len(c.seen)-1]; last != tt.at {
				c.until(tt.at)
			}
			if tt.version == V0225 && tt.at == "CM user" {
				c.next() // the first one is the hidden context message
			}
			c.seen = nil
			id := c.request("interrupt_session", Fields{})
			c.until("S:idle")
			require.Equal(t, tt.want, strings.Join(c.seen, " "))
			require.NotEmpty(t, id)
			require.NoError(t, c.finish())
		})
	}
}

// slowTool runs a tool that reports once and does not end.
func slowTool(d *Droid) error {
	tool := Tool{ID: "t1", Name: "Execute", Input: Fields{}}
	d.turn.open = []Tool{tool}
	return inOrder(func() error {
		return d.Notify("tool_progress_update", Fields{"toolUseId": "t1", "toolName": "Execute", "update": Fields{"type": "status", "text": ""}})
	}, d.Silence)
}

func askingTool(d *Droid) error {
	return d.Use("", "", Tool{ID: "t1", Name: "Execute", Input: Fields{}, Confirmation: "exec", Impact: "medium"})
}

func askingUser(d *Droid) error {
	_, err := d.AskUser("I ask. ", Question{Topic: "Colour", Question: "Which?", Options: []string{"Red", "Blue"}})
	return err
}

func TestInterruptWhilePacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, EachPrompt(func(d *Droid, _ Prompt) error { return d.Say("", strings.Repeat("word ", 100)) }), WithPace(time.Minute))
		c.init(nil)
		c.request("add_user_message", Fields{"text": "long"})
		c.until("assistant_text_delta")
		begin := time.Now()
		c.request("interrupt_session", Fields{})
		c.until("S:idle")
		require.Less(t, time.Since(begin), time.Minute, "a pause ends with the interrupt")
		require.NotContains(t, c.seen, "assistant_text_complete")
		require.NoError(t, c.finish())
	})
}

func TestQueuedMessage(t *testing.T) {
	c := start(t, EachPrompt(touchScript), WithMode("auto-high"))
	c.init(nil)
	c.request("add_user_message", Fields{"text": "one"})
	c.until("tool_progress_update")
	c.request("add_user_message", Fields{"text": "two"})
	c.until("S:idle")
	echo := c.until("CM user")
	require.Equal(t, "3", echo.Params.Notification["requestId"])
	c.until("S:idle")
	require.NoError(t, c.finish())
}

func TestSettings(t *testing.T) {
	tests := []struct {
		name    string
		version Version
		params  Fields
		mode    string // afterwards
		events  string
	}{
		{"mode", V0225, Fields{"autonomyMode": "auto-high"}, "auto-high", "settings_updated settings_updated RESP"},
		{"mode on 0.99", V099, Fields{"autonomyMode": "spec"}, "spec", "settings_updated RESP"},
		{"no change", V0225, Fields{"autonomyMode": "normal"}, "normal", "settings_updated RESP"},
		{"no change on 0.99", V099, Fields{"autonomyMode": "normal"}, "normal", "RESP"},
		{"level", V0225, Fields{"autonomyLevel": "low"}, "auto-low", "settings_updated settings_updated RESP"},
		{"unknown level is ignored", V0225, Fields{"autonomyLevel": "spec"}, "normal", "settings_updated RESP"},
		{"level makes droid ignore mode", V0225, Fields{"autonomyMode": "spec", "autonomyLevel": "high"}, "auto-high", "settings_updated settings_updated RESP"},
		{"bad mode", V0225, Fields{"autonomyMode": "bogus"}, "normal", "ERR"},
		{"unversioned", Unversioned, Fields{"autonomyLevel": "spec"}, "spec", "settings_updated RESP"},
		{"unversioned bad", Unversioned, Fields{"autonomyLevel": "bogus"}, "normal", "ERR"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, planAndWrite(), WithVersion(tt.version))
			c.init(nil)
			c.request("update_session_settings", tt.params)
			for last := ""; last != "RESP" && last != "ERR"; last = c.seen[len(c.seen)-1] {
				c.next()
			}
			require.Equal(t, tt.events, strings.Join(c.seen, " "))
			info := c.init(nil)
			field := "autonomyMode"
			if tt.version == Unversioned {
				field = "autonomyLevel"
			}
			var result struct {
				Settings map[string]any `json:"settings"`
			}
			require.NoError(t, json.Unmarshal(info.Result, &result))
			require.Equal(t, tt.mode, result.Settings[field])
			require.NoError(t, c.finish())
		})
	}
}

func TestRefusedLines(t *testing.T) {
	tests := []struct {
		name    string
		version Version
		line    string
		code    int
		id      bool
	}{
		{"no JSON", V0225, `nonsense`, -32700, false},
		{"two objects", V0225, `{}{}`, -32700, false},
		{"numeric id", V0225, `{"jsonrpc":"2.0","factoryApiVersion":"1.0.0","type":"request","id":7,"method":"droid.interrupt_session","params":{}}`, -32700, false},
		{"no api version", V0225, `{"jsonrpc":"2.0","type":"request","id":"x","method":"droid.interrupt_session","params":{}}`, -32700, false},
		{"batch", V0225, `[]`, -32700, false},
		{"unknown method", V0225, `{"jsonrpc":"2.0","factoryApiVersion":"1.0.0","type":"request","id":"x","method":"droid.no_such","params":{}}`, -32601, true},
		{"unknown method on 0.99", V099, `{"jsonrpc":"2.0","factoryApiVersion":"1.0.0","type":"request","id":"x","method":"droid.no_such","params":{}}`, -32600, false},
		{"no params", V0225, `{"jsonrpc":"2.0","factoryApiVersion":"1.0.0","type":"request","id":"x","method":"droid.interrupt_session"}`, -32602, true},
		{"unknown session", V0225, `{"jsonrpc":"2.0","factoryApiVersion":"1.0.0","type":"request","id":"x","method":"droid.load_session","params":{"sessionId":"s"}}`, -32004, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, planAndWrite(), WithVersion(tt.version))
			if tt.version == V099 {
				c.next() // its MCP servers
			}
			c.write("")
			c.write(tt.line)
			l := c.next()
			require.NotNil(t, l.Error)
			require.Equal(t, tt.code, l.Error.Code)
			require.Equal(t, tt.id, l.ID != nil)
			require.NoError(t, c.finish())
		})
	}
}

func TestTwoResponsesBeforeInit(t *testing.T) {
	c := start(t, planAndWrite())
	id := c.request("add_user_message", Fields{"text": "early"})
	require.Equal(t, id, *c.next().ID)
	second := c.next()
	require.Equal(t, id, *second.ID)
	require.Equal(t, -32603, second.Error.Code)
	require.NoError(t, c.finish())
}

func TestProtocolVersionOnEveryLine(t *testing.T) {
	for _, v := range []Version{Unversioned, V099, V0225} {
		c := start(t, planAndWrite(), WithVersion(v))
		l := c.init(nil)
		require.Equal(t, string(v), l.Proto)
		require.NoError(t, c.finish())
	}
}

func TestRunEndsWhenTheClientIsGone(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	require.NoError(t, outR.Close())
	done := make(chan error, 1)
	go func() { done <- Run(inR, outW, planAndWrite()) }()
	_, err := io.WriteString(inW, "nonsense\n")
	require.NoError(t, err)
	require.ErrorIs(t, <-done, io.ErrClosedPipe)
}
