package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// TestPermissionIsAnsweredTwice: the first answer counts, also of an editor that then says something else, and droid gets one.
func TestPermissionIsAnsweredTwice(t *testing.T) {
	for first, second := range map[string]string{"proceed_once": "cancel", "cancel": "proceed_once"} {
		t.Run(first, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				var sent strings.Builder
				e := begin(t, func(int) (*droid.Client, error) {
					return tappedDroid(func(line []byte) { sent.Write(line) }, uses(touch), v), nil
				})
				e.onAsk = func(id, _ json.RawMessage) bool {
					go func() {
						for _, option := range []string{first, second} {
							e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, id, option))
						}
					}()
					return true
				}
				e.run("go")
				require.Equal(t, 1, strings.Count(sent.String(), "selectedOption"))
				require.Contains(t, sent.String(), fmt.Sprintf(`"selectedOption":%q`, first))
				require.Nil(t, e.call("_droid/state", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error, "the connection works on")
			})
		})
	}
}

// TestPermissionsFailClosed: droid gets "cancel" for every answer that is no clear choice.
func TestPermissionsFailClosed(t *testing.T) {
	result := func(result string) func(e *editor, id json.RawMessage) {
		return func(e *editor, id json.RawMessage) {
			e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, result))
		}
	}
	for name, act := range map[string]func(e *editor, id json.RawMessage){
		"error":             result(`"error":{"code":-32601,"message":"no such method"}`),
		"cancelled":         result(`"result":{"outcome":{"outcome":"cancelled"}}`),
		"unknown option":    result(`"result":{"outcome":{"outcome":"selected","optionId":"proceed_auto_run_high"}}`),
		"unknown outcome":   result(`"result":{"outcome":{"outcome":"approved","optionId":"proceed_once"}}`),
		"no outcome":        result(`"result":{}`),
		"empty result":      result(`"result":null`),
		"malformed outcome": result(`"result":{"outcome":5}`),
		"no JSON-RPC": func(e *editor, id json.RawMessage) {
			e.send(fmt.Sprintf(`{"jsonrpc":2,"id":%s,"result":{"outcome":{"outcome":"selected","optionId":"proceed_once"}}}`, id))
		},
		"turn cancelled": func(e *editor, _ json.RawMessage) { e.cancel() },
		"editor gone":    func(e *editor, _ json.RawMessage) { _ = e.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				var told strings.Builder
				e := begin(t, func(int) (*droid.Client, error) {
					return tappedDroid(func(line []byte) { told.Write(line) }, uses(touch), v), nil
				})
				e.onAsk = func(id, _ json.RawMessage) bool {
					go act(e, id)
					return true
				}
				id := e.prompt("go")
				if name == "editor gone" {
					synctest.Wait()
					e.close()
				} else {
					e.await(id)
				}
				require.Contains(t, told.String(), `"selectedOption":"cancel"`)
				require.Equal(t, 1, strings.Count(told.String(), "selectedOption"))
			})
		})
	}
}

// TestQuirk17_ModeDoesNotAnswerAPermission: the user still has the request in
// front of them after a change of mode.
func TestQuirk17_ModeDoesNotAnswerAPermission(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(uses(touch), v))
		e.ask = nil
		id := e.prompt("go")
		synctest.Wait()
		require.Nil(t, e.call("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"auto-high"}`, e.session)).Error)
		_, ok := e.answered(id)
		require.False(t, ok)
		require.NotContains(t, e.updates(), "withdrawn")
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
	})
}

// TestCancelWhilePlanIsTold: the user approves one of several plans and cancels
// before droid has taken their pick. The approval must not follow the cancel.
func TestCancelWhilePlanIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plans := plan
		plans.Details = fakedroid.Fields{"plan": "A or B", "optionNames": []string{"Plan A", "Plan B"}}
		var told strings.Builder
		var cancelled atomic.Bool
		var e *editor
		e = begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) {
				told.Write(line)
				if strings.Contains(string(line), "I choose") {
					cancelled.Store(true)
					e.cancel()
					time.Sleep(time.Millisecond) // of the bubble: the cancel has its effect first
				}
			}, uses(plans), fakedroid.WithVersion(fakedroid.V099), fakedroid.WithMode("spec")), nil
		})
		e.ask = func(p permission) string {
			switch {
			case cancelled.Load():
				return "cancel" // of a turn that droid may begin with the message it received
			case strings.HasPrefix(p.Options[0].OptionID, "plan_"):
				return "plan_0"
			}
			return "proceed_auto_run_high"
		}
		require.Equal(t, "cancelled", e.run("plan"))
		require.Contains(t, told.String(), `"selectedOption":"cancel"`)
		require.NotContains(t, told.String(), `"selectedOption":"proceed`)
	})
}

// The message that names a plan does not go to droid behind the interrupt of a cancel: it would begin a turn. Before 0.215 it waits for a
// change of the mode that droid has not answered.
func TestCancelBeforePlanIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plans := plan
		plans.Details = fakedroid.Fields{"plan": "A or B", "optionNames": []string{"Plan A", "Plan B"}}
		told := new(toldLines)
		var e *editor
		cancelled := make(chan struct{})
		e = begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) {
				told.add(line)
				if strings.Contains(string(line), "update_session_settings") {
					time.Sleep(time.Second) // droid is slow to read the change
					e.cancel()
					close(cancelled)
					time.Sleep(time.Second)
				}
			}, uses(plans), fakedroid.WithVersion(fakedroid.V099), fakedroid.WithMode("spec")), nil
		})
		e.ask = func(p permission) string {
			if strings.HasPrefix(p.Options[0].OptionID, "plan_") {
				return "plan_0"
			}
			select {
			case <-cancelled:
				return "cancel" // of a turn that nobody has asked for
			default:
			}
			e.request("session/set_mode", e.inSession(`,"modeId":"normal"`))
			time.Sleep(100 * time.Millisecond)
			return "proceed_auto_run_high"
		}
		require.Equal(t, "cancelled", e.run("plan"))
		time.Sleep(10 * time.Second)
		require.Positive(t, told.place(1, "interrupt_session"))
		require.Equal(t, -1, told.place(1, "I choose"), "%v", told.lines)
	})
}
