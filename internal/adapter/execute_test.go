package adapter

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
	"droid-acp/internal/testing/fakedroid"
)

// beginAs begins as an editor that declares these client capabilities.
func beginAs(t *testing.T, capabilities string, start starter) *editor {
	t.Helper()
	return beginNamed(t, "zed", capabilities, start)
}

// callUpdate is a tool_call or tool_call_update that came.
type callUpdate struct {
	SessionUpdate string
	ToolCallID    string
	Status        string
	Title         string
	Content       []protocol.ToolContent
	Locations     []protocol.Location
	Meta          *protocol.ToolMeta `json:"_meta"`
}

// callUpdates are the tool calls and their updates that came, in order.
func (e *editor) callUpdates() []callUpdate {
	var out []callUpdate
	for _, m := range e.received() {
		var p struct{ Update callUpdate }
		if m.Method == "session/update" && json.Unmarshal(m.Params, &p) == nil && p.Update.ToolCallID != "" {
			out = append(out, p.Update)
		}
	}
	return out
}

var count = fakedroid.Tool{
	ID: "t1", Name: "Execute", Input: fakedroid.Fields{"command": "count"}, Confirmation: "exec", Impact: "medium",
	Details:  fakedroid.Fields{"fullCommand": "count", "impactLevel": "medium"},
	Progress: []string{"one", "two", "three"}, Result: "one\ntwo\nthree\nfour\n\n\n[Process exited with code 0]",
}

// Fast output is repeated ten times a second at most, and its last state comes
// although nothing follows.
func TestCommandOutputIsThrottled(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		fast := count
		fast.Progress = nil
		for i := range 100 {
			fast.Progress = append(fast.Progress, fmt.Sprintf("line number %d", i+1))
		}
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			if err := d.Use("", "On it. ", fast); err != nil {
				return err
			}
			return d.Say("", "Done.")
		}), v, fakedroid.WithPace(10*time.Millisecond)))
		require.Equal(t, "end_turn", e.run("count"))
		repeated := 0
		for _, u := range e.callUpdates() {
			if u.Content != nil {
				repeated++
			}
		}
		require.InDelta(t, 11, repeated, 2, "in about one second, with the result")
	})
}

// A call whose input takes long to come is shown without it, except to a client
// that never changes a title.
func TestCallIsShownBeforeItsInput(t *testing.T) {
	slow := eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
		if err := d.Notify("tool_call", fakedroid.Fields{"toolUse": fakedroid.Fields{"type": "tool_use", "id": "t1", "name": "Execute", "input": fakedroid.Fields{}}}); err != nil {
			return err
		}
		time.Sleep(2 * time.Second)
		return d.Use("", "", touch)
	})
	for client, want := range map[string]string{"zed": "tool_call t1 pending Execute", "mitto": "", "Agentic.nvim": ""} {
		synctest.Test(t, func(t *testing.T) {
			e := beginNamed(t, client, "{}", playing(slow))
			id := e.prompt("go")
			time.Sleep(140 * time.Millisecond)
			require.NotContains(t, strings.Join(e.updates(), "\n"), "tool_call")
			time.Sleep(20 * time.Millisecond)
			require.Equal(t, want, strings.Join(slices.DeleteFunc(e.updates(), func(u string) bool { return !strings.HasPrefix(u, "tool_call") }), "\n"))
			require.Equal(t, "end_turn", ended(e.await(id)))
			if want == "" {
				require.Contains(t, e.updates(), "tool_call t1 pending touch a")
			} else {
				require.Contains(t, e.updates(), "tool_call_update t1 touch a")
			}
		})
	}
}
