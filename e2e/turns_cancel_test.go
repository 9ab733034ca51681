//go:build e2e && linux

package e2e

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// cancelLimit is how long a cancelled turn may take to end: 2 s for droid on a machine that runs several, and 2 s after that. droid is
// killed after 8 s.
const cancelLimit = 4 * time.Second

// cancelled cancels the turn and checks that it ends once.
func (t turn) cancelled() {
	t.t.Helper()
	begin := time.Now()
	t.notify("session/cancel", map[string]any{"sessionId": t.id})
	end := t.end(turnLimit)
	require.Nil(t.t, end.Err)
	require.Equal(t.t, "cancelled", end.Stop)
	require.Less(t.t, end.At.Sub(begin), cancelLimit)
	for _, status := range end.tools() {
		require.Contains(t.t, []string{"completed", "failed"}, status, "no tool is left open")
	}
	t.noUpdateAfter(end, time.Second)
}

// nextPromptWorks checks that the session accepts another prompt.
func (s session) nextPromptWorks() {
	s.t.Helper()
	end := s.prompt("still there?").end(turnLimit)
	require.Nil(s.t, end.Err)
	require.Equal(s.t, "Still here.", end.text())
}

// A cancel ends the prompt within its limit, whatever droid does at the time, and the next one works (quirk 5).
func TestCancel(t *testing.T) {
	story := modelserver.Step{Text: strings.Repeat("word ", 2000), Delay: 25 * time.Millisecond}
	speaks := func(_ *testing.T, _ *modelserver.Server, _ home, turn turn) {
		turn.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
	}
	cases := map[string]struct {
		step   modelserver.Step
		permit func(permission) string
		moment func(*testing.T, *modelserver.Server, home, turn) // waits until droid does it
		cancel func(*testing.T, turn, home)                      // turn.cancelled, if nil
		after  func(*testing.T, home)
	}{
		"mid stream": {step: story, moment: speaks},
		"at once":    {step: story},
		"silent model": {step: modelserver.Step{Hang: true}, moment: func(t *testing.T, model *modelserver.Server, _ home, _ turn) {
			_, err := model.Await(t.Context(), func(r modelserver.Request) bool { return r.Prompt == "silent model" })
			require.NoError(t, err)
		}},
		"mid tool": {
			step:   modelserver.Step{Text: "I sleep. ", Tools: []modelserver.ToolCall{execute("a", "echo started; sleep 297")}},
			permit: allowOnce,
			moment: func(t *testing.T, _ *modelserver.Server, h home, _ turn) { h.awaitProcess(t, "sleep 297") },
			after: func(t *testing.T, h home) {
				h.awaitNone(t, turnLimit, func(p process) bool { return strings.Contains(p.command, "sleep 297") })
			},
		},
		"mid permission": {
			step:   modelserver.Step{Text: "I touch it. ", Tools: []modelserver.ToolCall{execute("b", "touch cancelled")}},
			permit: noAnswer,
			moment: func(_ *testing.T, _ *modelserver.Server, _ home, turn turn) {
				turn.await("a permission request", turn.from, turnLimit, func(l line) bool { return l.Method == "session/request_permission" })
			},
			after: func(t *testing.T, h home) { require.NoFileExists(t, h.work+"/cancelled") },
		},
		// While droid repeats a failed call, within a second (0.225.2; 0.99.0 repeats silently and takes a little longer).
		"mid retry": {step: modelserver.Step{Status: 529}, moment: repeatsCall, cancel: func(t *testing.T, turn turn, h home) {
			began := time.Now()
			turn.notify("session/cancel", map[string]any{"sessionId": turn.id})
			require.Equal(t, "cancelled", turn.end(10*time.Second).Stop)
			if h.version == newDroid {
				require.Less(t, time.Since(began), time.Second)
			}
		}},
		// By $/cancel_request, the newer way: as cancelled, or with the corresponding error.
		"the request": {step: story, moment: speaks, cancel: func(t *testing.T, turn turn, _ home) {
			begin := time.Now()
			turn.notify("$/cancel_request", map[string]any{"requestId": turn.request})
			end := turn.end(turnLimit)
			require.Less(t, end.At.Sub(begin), cancelLimit)
			if end.Err != nil {
				require.Equal(t, -32800, end.Err.Code)
			} else {
				require.Equal(t, "cancelled", end.Stop)
			}
			turn.noUpdateAfter(end, time.Second)
		}},
	}
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("still", modelserver.Step{Text: "Still here."})
		s := startAgent(t, h).open(h)
		for name, tc := range cases {
			t.Run(name, func(t *testing.T) {
				model.On(name, tc.step)
				s.onPermission(rejectOnce)
				if tc.permit != nil {
					s.onPermission(tc.permit)
				}
				turn := s.prompt(name)
				if tc.moment != nil {
					tc.moment(t, model, h, turn)
				}
				if tc.cancel != nil {
					tc.cancel(t, turn, h)
				} else {
					turn.cancelled()
				}
				if tc.after != nil {
					tc.after(t, h)
				}
				s.nextPromptWorks()
			})
		}
	})
}

// repeatsCall waits until droid repeats a failed call of the model.
func repeatsCall(t *testing.T, model *modelserver.Server, h home, turn turn) {
	if h.version == newDroid {
		turn.awaitUpdate("the retry", func(u update) bool { return strings.Contains(u.text(), "Trying again") })
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), turnLimit)
	defer cancel()
	calls := 0
	_, err := model.Await(ctx, func(r modelserver.Request) bool {
		if r.Prompt == "mid retry" {
			calls++
		}
		return calls == 2
	})
	require.NoError(t, err)
}

// A droid stopped by a signal reads nothing, not even the prompt. A cancel still ends the prompt, and the next one goes to a new process.
func TestCancelStoppedDroid(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("first", modelserver.Step{Text: "First."})
		model.On("still", modelserver.Step{Text: "Still here."})
		s := startAgent(t, h).open(h)
		require.Equal(t, "First.", s.prompt("the first").end(turnLimit).text())
		stopped := h.processes(t)
		for _, p := range stopped {
			require.NoError(t, syscall.Kill(p.pid, syscall.SIGSTOP))
		}
		turn := s.prompt("never heard")
		turn.notify("session/cancel", map[string]any{"sessionId": s.id})
		end := turn.end(15 * time.Second)
		require.Nil(t, end.Err)
		require.Equal(t, "cancelled", end.Stop)
		for _, p := range stopped { // a cancel before the prompt was sent does not kill droid
			_ = syscall.Kill(p.pid, syscall.SIGCONT) // most are gone
		}
		s.nextPromptWorks()
	})
}

// awaitProcess waits for a process of the home whose command line contains
// part, and which is neither droid nor a shell around it.
func (h home) awaitProcess(t *testing.T, part string) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, p := range h.processes(t) {
			if !p.droid && strings.HasPrefix(p.command, part) {
				return true
			}
		}
		return false
	}, turnLimit, 50*time.Millisecond, "no process %q", part)
}
