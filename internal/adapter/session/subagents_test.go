package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/testing/fakedroid"
)

// subagentScript plays the turn of a prompt; root is the store of sessions.
type subagentScript func(d *fakedroid.Droid, p fakedroid.Prompt, root string) error

// withSubagents is an editor with a session in a store.
func withSubagents(t *testing.T, script subagentScript) *editor {
	t.Helper()
	root, sessions := t.TempDir(), fakedroid.WithSessions(new(fakedroid.Sessions))
	return beginOn(t, root, playing(fakedroid.EachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error { return script(d, p, root) }), sessions))
}

// shownCall is a call as the editor shows it.
type shownCall struct{ title, status, text string }

// shownCalls returns the calls that were sent to the editor since the last load, by their IDs.
func (e *editor) shownCalls() map[string]shownCall {
	calls := map[string]shownCall{}
	for _, m := range e.received() {
		var p struct{ Update protocol.ToolCall }
		if m.Method != "session/update" || json.Unmarshal(m.Params, &p) != nil || p.Update.ToolCallID == "" {
			continue
		}
		c := calls[p.Update.ToolCallID]
		if p.Update.Title != "" {
			c.title = string(p.Update.Title)
		}
		if p.Update.Status != "" {
			c.status = p.Update.Status
		}
		if p.Update.Content != nil {
			c.text = ""
			for _, one := range p.Update.Content {
				if one.Content != nil && one.Content.Text != nil {
					c.text += string(*one.Content.Text) + "\n"
				}
			}
		}
		calls[p.Update.ToolCallID] = c
	}
	return calls
}

// callOf is the call that an id ends with.
func (e *editor) callOf(suffix string) (found shownCall) {
	for id, c := range e.shownCalls() {
		if strings.HasSuffix(id, suffix) {
			found = c
		}
	}
	return found
}

// task is the call of the subagent itself.
func (e *editor) task() (found shownCall) {
	for _, c := range e.shownCalls() {
		if c.title == "Task look" {
			found = c
		}
	}
	return found
}

// launches is a droid whose first turn launches a subagent that works in the background; rest comes after that turn.
func launches(root string, rest func(d *fakedroid.Droid, s *fakedroid.Subagent) error) fakedroid.Script {
	return func(d *fakedroid.Droid) error {
		p, err := d.AwaitPrompt()
		if err != nil {
			return err
		}
		s := d.NewSubagent("look", root)
		if err := d.Turn(p, func() error { return d.Task("On it. ", nil, s) }); err != nil {
			return err
		}
		return rest(d, s)
	}
}

// reportsDone makes droid process the result of a subagent in the background.
func reportsDone(d *fakedroid.Droid, s *fakedroid.Subagent) error {
	return d.Report(s, "completed", "found it", func() error { return d.Say("", "All done.") })
}

// beginOn begins a session of an agent whose store is in root.
func beginOn(t *testing.T, root string, start starter) *editor {
	t.Helper()
	e := connect(t, start)
	e.agent.Config.Store = store.New(root, zap.NewNop())
	e.beginSession()
	return e
}

// noCallOpen checks that each call has ended.
func (e *editor) noCallOpen() {
	e.t.Helper()
	for id, c := range e.shownCalls() {
		require.Contains(e.t, []string{protocol.StatusCompleted, protocol.StatusFailed}, c.status, id)
	}
}

// inTurn does steps until one fails.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// worksOn makes a subagent ask for touch, and act on the user's answer.
func worksOn(d *fakedroid.Droid, s *fakedroid.Subagent, result string) error {
	tool := touch
	tool.Result = result
	if err := s.Write(s.Calls("Let me do that. ", tool)); err != nil {
		return err
	}
	id, err := d.Asks(s, tool)
	if err != nil {
		return err
	}
	return answeredFor(d, s, id, tool)
}

// answeredFor writes the result of a call after the user's answer.
func answeredFor(d *fakedroid.Droid, s *fakedroid.Subagent, id string, tool fakedroid.Tool) error {
	option, err := d.Answered(id, tool)
	if option == "cancel" {
		tool.Result, tool.IsError = "Tool execution cancelled by user", true
	}
	if err == nil {
		err = s.Write(s.Result(tool), s.Answer("found it"), s.Outcome("completed"))
	}
	return err
}

// Two subagents ask at once, under the same id of their models. Each request says whose it is, and each call ends as its
// own did.
func TestTwoSubagentsAskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := withSubagents(t, func(d *fakedroid.Droid, _ fakedroid.Prompt, root string) error {
			one, two := d.NewSubagent("one", root), d.NewSubagent("two", root)
			var first, second string
			return d.Task("On it. ", func() (err error) {
				return inTurn(
					func() error { return one.Write(one.Calls("", touch)) },
					func() error { return two.Write(two.Calls("", touch)) },
					func() error { first, err = d.Asks(one, touch); return err },
					func() error { second, err = d.Asks(two, touch); return err },
					func() error { return answeredFor(d, two, second, touch) },
					func() error { return answeredFor(d, one, first, touch) },
				)
			}, one, two)
		})
		var asked []string
		e.ask = func(p permission) string {
			text, _ := json.Marshal(p.ToolCall.Content)
			asked = append(asked, string(text))
			if strings.Contains(string(text), "Subagent *one* asks.") {
				return p.Option("allow_once")
			}
			return p.Option("reject_once")
		}
		require.Equal(t, "end_turn", e.run("go"))
		require.Len(t, asked, 2)
		require.Contains(t, asked[1], "Subagent *two* asks.")
		time.Sleep(time.Minute)
		e.noCallOpen()
		var ends []string
		for id, c := range e.shownCalls() {
			if strings.HasSuffix(id, ".t1") {
				ends = append(ends, c.status)
			}
		}
		require.ElementsMatch(t, []string{"completed", "failed"}, ends)
	})
}

// When droid dies, nothing that its subagents did stays open or is shown as running.
func TestDroidDiesWithSubagents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := withSubagents(t, func(d *fakedroid.Droid, p fakedroid.Prompt, root string) error {
			if p.Text != "go" {
				return d.Say("", "re: "+p.Text)
			}
			s := d.NewSubagent("look", root)
			return inTurn(
				func() error { return d.Task("On it. ", nil, s) },
				func() error { return s.Write(s.Calls("Let me see. ", touch)) },
				func() error {
					id, err := d.Asks(s, touch)
					if err == nil {
						_, err = d.Answered(id, touch)
					}
					return err
				},
				func() error { return d.Pause(2 * time.Second) },
				func() error { return d.Die(137, "") },
			)
		})
		require.Contains(t, e.run("go"), "-32")
		time.Sleep(time.Minute)
		e.noCallOpen()
		require.Equal(t, shownCall{"touch a", "completed", "How this ended is not known.\n"}, e.callOf(".t1"))
		require.Contains(t, strings.Join(e.updates(), "\n"), "Subagent *look* ended with droid's process, before it was done.")
		require.Equal(t, "- Let me see.\n- `Execute` touch a\n\nThe subagent worked in the background and ended with droid's process, before it was done.\n", e.task().text)
		require.Equal(t, "end_turn", e.run("more"))
	})
}

// The result of a subagent's call is only in the subagent's file.
func TestSubagentsFile(t *testing.T) {
	const unknown = "How this ended is not known.\n"
	const done = "```console\ndone\n```\n"
	whole := func(s *fakedroid.Subagent, tool fakedroid.Tool) error {
		return s.Write(s.Calls("", tool), s.Result(tool))
	}
	for name, tc := range map[string]struct {
		before func(s *fakedroid.Subagent, tool fakedroid.Tool) error // while its Task runs
		after  func(s *fakedroid.Subagent, tool fakedroid.Tool) error // a second later
		want   string
	}{
		"whole":         {whole, nil, done},
		"is not there":  {nil, nil, unknown},
		"appears late":  {nil, whole, done},
		"has no result": {func(s *fakedroid.Subagent, tool fakedroid.Tool) error { return s.Write(s.Calls("", tool)) }, nil, unknown},
		"cannot be used": {func(s *fakedroid.Subagent, _ fakedroid.Tool) error {
			return inTurn(func() error { return os.Remove(s.File) }, func() error { return os.Mkdir(s.File, 0o700) })
		}, nil, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := withSubagents(t, func(d *fakedroid.Droid, _ fakedroid.Prompt, root string) error {
					s, tool := d.NewSubagent("look", root), touch
					tool.Result = "done"
					file := s.File
					if tc.before == nil {
						s.File = "" // nothing is written yet
					}
					return inTurn(
						func() error {
							return d.Task("On it. ", func() error {
								id, err := d.Asks(s, tool)
								if err == nil {
									_, err = d.Answered(id, tool)
								}
								if err == nil && tc.before != nil {
									err = tc.before(s, tool)
								}
								return err
							}, s)
						},
						func() error { return d.Pause(time.Second) },
						func() error {
							if tc.after == nil {
								return nil
							}
							if s.File == "" {
								s.File = file
								if err := s.Write(fakedroid.Fields{"type": "session_start", "id": s.ID, "callingSessionId": s.Parent}); err != nil {
									return err
								}
							}
							return tc.after(s, tool)
						},
						func() error { return d.Say("", "So it is.") },
					)
				})
				require.Equal(t, "end_turn", e.run("go"))
				time.Sleep(10 * time.Second)
				require.Equal(t, shownCall{"touch a", "completed", tc.want}, e.callOf(".t1"))
				e.noCallOpen()
			})
		})
	}
}

// A disk that does not answer holds up the session for a moment, and no call stays open.
func TestSubagentsFileHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := withSubagents(t, func(d *fakedroid.Droid, _ fakedroid.Prompt, root string) error {
			s := d.NewSubagent("look", root)
			return d.Task("On it. ", func() error { return worksOn(d, s, "done") }, s)
		})
		e.hanging.begin("Store.Subagent")
		began := time.Now()
		require.Equal(t, "end_turn", e.run("go"))
		require.Less(t, time.Since(began), 2*session.FileTime)
		time.Sleep(10 * time.Second)
		require.Equal(t, shownCall{"touch a", "completed", "How this ended is not known.\n"}, e.callOf(".t1"))
		e.noCallOpen()
	})
}

// TestCancelWhileASubagentsFileIsRead checks that what was read by then is shown.
func TestCancelWhileASubagentsFileIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := withSubagents(t, func(d *fakedroid.Droid, _ fakedroid.Prompt, root string) error {
			s := d.NewSubagent("look", root)
			return inTurn(func() error { return d.Task("On it. ", func() error { return worksOn(d, s, "done") }, s) }, func() error { return d.Pause(time.Minute) })
		})
		reads := 0
		e.agent.Calls.BeforeCall = func(call files.CallName) {
			if call == "Store.Subagent" {
				if reads++; reads == 2 { // to find the file's end
					time.Sleep(time.Second)
				}
			}
		}
		running := e.prompt("go")
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 2, reads)
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(running)))
		time.Sleep(10 * time.Second)
		require.Equal(t, shownCall{"touch a", "completed", "```console\ndone\n```\n"}, e.callOf(".t1"))
		require.Contains(t, e.task().text, "found it")
		e.noCallOpen()
	})
}

// TestSubagentInBackground: its Task shows that it works, what it does, and how it ended. Its report is shown under its name.
func TestSubagentInBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		e := connect(t, playing(launches(root, func(d *fakedroid.Droid, s *fakedroid.Subagent) error {
			return inTurn(func() error { return s.Write(s.Calls("Let me see. ", create)) }, func() error { return d.Pause(time.Minute) },
				func() error { return worksOn(d, s, "done") }, func() error { return reportsDone(d, s) })
		})))
		e.agent.Config.Store, e.agent.Config.ParkAfter = store.New(root, zap.NewNop()), time.Second
		e.beginSession()
		require.Equal(t, "end_turn", e.run("go"))
		require.Equal(t, shownCall{"Task look", "completed", "The subagent works in the background.\n"}, e.task())
		time.Sleep(2 * time.Second)
		require.Equal(t, "- Let me see.\n- `Create` n.txt\n\nThe subagent works in the background.\n", e.task().text)
		before := len(e.updates())
		time.Sleep(2 * time.Minute)
		require.Equal(t, "- Let me see.\n- `Create` n.txt\n- Let me do that.\n- `Execute` touch a\n\nfound it\n", e.task().text)
		require.Equal(t, "completed", e.callOf(".t1").status)
		said := e.updates()[before:]
		require.Equal(t, []string{"notice: \n\nSubagent *look* is done. droid goes on with that:", "agent: \n\nAll done."}, said[len(said)-2:])
		e.noCallOpen()
	})
}

// A load shows of a subagent in the background what it does if it works, and its answer if it has reported. If droid has exited before, its
// outcome is unknown, whatever droid's store says.
func TestLoadWithSubagents(t *testing.T) {
	for name, want := range map[string]string{
		"works":    "- `Execute` touch a\n\nThe subagent works in the background.\n",
		"reported": "found it\n",
		"gone":     "The subagent worked in the background. What became of it is not known.\n",
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			root, sessions := t.TempDir(), fakedroid.WithSessions(new(fakedroid.Sessions))
			e := beginOn(t, root, func(n int) (*droid.Client, error) {
				if n > 1 {
					return fakeDroid(says("hello"), sessions), nil
				}
				return fakeDroid(launches(root, func(d *fakedroid.Droid, s *fakedroid.Subagent) error {
					if name == "reported" {
						if err := reportsDone(d, s); err != nil {
							return err
						}
					}
					if err := d.Pause(5 * time.Second); err != nil {
						return err
					}
					if name == "gone" {
						return d.Die(137, "")
					}
					return inTurn(func() error { return s.Write(s.Calls("", touch)) }, func() error { return d.Pause(time.Hour) })
				}), sessions), nil
			})
			require.Equal(t, "end_turn", e.run("go"))
			time.Sleep(map[bool]time.Duration{true: 8 * time.Second, false: 3 * time.Second}[name == "gone"])
			e.forgetLines()
			require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
			time.Sleep(10 * time.Second)
			e.noCallOpen()
			require.Len(t, e.shownCalls(), 1)
			require.Equal(t, shownCall{"Task look", "completed", want}, e.task())
			require.Equal(t, name == "reported", strings.Contains(fmt.Sprint(e.updates()), "Subagent *look* is done."))
		}))
	}
}

// forgetLines drops earlier messages, so that only later ones are checked.
func (e *editor) forgetLines() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = nil
}

// TestAgentDiesWithSubagents checks a killed agent, whose droid is killed, too. A load in another agent shows no call as open and no
// subagent as working; their outcomes are unknown.
func TestAgentDiesWithSubagents(t *testing.T) {
	asks := func(d *fakedroid.Droid, s *fakedroid.Subagent) error {
		return inTurn(func() error { return s.Write(s.Calls("Let me do that. ", touch)) }, func() error { _, err := d.Asks(s, touch); return err })
	}
	works := func(_ *fakedroid.Droid, s *fakedroid.Subagent) error { return s.Write(s.Calls("", touch)) }
	for name, does := range map[string]func(d *fakedroid.Droid, s *fakedroid.Subagent) error{"asks": asks, "works": works} {
		for _, background := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " in the background ", background), inBubble(func(t *testing.T) {
				root, left, sessions := t.TempDir(), filepath.Join(t.TempDir(), "left"), fakedroid.WithSessions(new(fakedroid.Sessions))
				script := launches(root, func(d *fakedroid.Droid, s *fakedroid.Subagent) error {
					return inTurn(func() error { return does(d, s) }, func() error { return d.Pause(time.Hour) })
				})
				want := shownCall{"Task look", "completed", "The subagent worked in the background. What became of it is not known.\n"}
				if !background {
					script = eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
						s := d.NewSubagent("look", root)
						return d.Task("On it. ", func() error { return inTurn(func() error { return does(d, s) }, d.Silence) }, s)
					})
					want = shownCall{"Task look", "failed", "What became of the subagent is not known.\n"}
				}
				e := beginOn(t, root, playing(script, sessions))
				e.ask = nil
				prompt := e.prompt("go")
				time.Sleep(5 * time.Second)
				require.Equal(t, name == "asks", slices.Contains(e.updates(), "ask"))
				_, over := e.answered(prompt)
				require.Equal(t, background, over)
				require.NoError(t, os.CopyFS(left, os.DirFS(root))) // what a dead agent leaves: its notes of what is open count no more
				e.agent.Kill()

				other := connect(t, playing(repeats(), sessions))
				other.agent.Config.Store = store.New(left, zap.NewNop())
				other.session = e.session
				require.Nil(t, other.call("session/load", sessionParamsOf(e.session)).Error)
				time.Sleep(time.Minute)
				other.noCallOpen()
				require.Len(t, other.shownCalls(), 1)
				require.Equal(t, want, other.task())
				require.NotContains(t, other.updates(), "ask")
				require.Equal(t, "end_turn", other.run("hello"))
				require.NotContains(t, other.told(), "works in the background")
			}))
		}
	}
}

// A call that is open when the session is loaded is not part of the replay, so no more of it is sent.
func TestLoadWhileASubagentsCallRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		e := beginOn(t, root, playing(launches(root, func(d *fakedroid.Droid, s *fakedroid.Subagent) error {
			id := ""
			return inTurn(func() error { return s.Write(s.Calls("", touch)) }, func() (err error) { id, err = d.Asks(s, touch); return err },
				func() error { _, err := d.Answered(id, touch); return err }, func() error { return d.Pause(10 * time.Second) },
				func() error { return s.Write(s.Result(touch), s.Answer("found it")) }, func() error { return reportsDone(d, s) })
		}), fakedroid.WithSessions(new(fakedroid.Sessions))))
		require.Equal(t, "end_turn", e.run("go"))
		time.Sleep(3 * time.Second)
		require.Equal(t, "in_progress", e.callOf(".t1").status)
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
		e.noCallOpen()
		e.forgetLines()
		time.Sleep(time.Minute)
		require.Empty(t, e.callOf(".t1"))
		require.Contains(t, e.updates(), "agent: \n\nAll done.")
	})
}

// A command that a subagent leaves in the background is followed like droid's, even if it needed no permission.
func TestSubagentLeavesACommandInTheBackground(t *testing.T) {
	for _, c := range []struct {
		name  string
		asks  bool
		begin func(t *testing.T, root string, start starter) *editor
	}{{"asked", true, beginOn}, {"not asked", false, beginOn}, {"asked, a session", true, subagentEditor}, {"not asked, a session", false, subagentEditor}} {
		t.Run(c.name, inBubble(func(t *testing.T) {
			serve, _ := leaves(t)
			left := &leftRun{}
			root := t.TempDir()
			e := c.begin(t, root, func(int) (*droid.Client, error) {
				client := fakeDroid(fakedroid.EachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
					s := d.NewSubagent("look", root)
					return d.Task("On it. ", func() error {
						if err := s.Write(s.Calls("", serve)); err != nil || !c.asks {
							return inTurn(func() error { return err }, func() error { return s.Write(s.Result(serve), s.Answer("up"), s.Outcome("completed")) })
						}
						id, err := d.Asks(s, serve)
						if err != nil {
							return err
						}
						return answeredFor(d, s, id, serve)
					}, s)
				}), fakedroid.WithSessions(new(fakedroid.Sessions)))
				client.StubChildren(left.Runs)
				client.StubBackground(func(id int) (droid.BackgroundCommand, error) { return left, nil })
				return client, nil
			})
			require.Equal(t, "end_turn", e.run("serve"))
			time.Sleep(time.Minute)
			e.noCallOpen()
			n := len(e.received())
			require.Equal(t, "end_turn", e.run("/background"))
			require.Contains(t, e.since(n), "- 1: `npm run dev`")
			n = len(e.received())
			left.ended.Store(true)
			time.Sleep(time.Minute)
			require.Contains(t, e.since(n), "npm run dev")
		}))
	}
}

// A prompt does not wait for the answer to a subagent in the background, and no text says that it does.
func TestPromptWhileASubagentInTheBackgroundAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		e := beginOn(t, root, playing(launches(root, func(d *fakedroid.Droid, s *fakedroid.Subagent) error {
			id := ""
			return inTurn(func() error { return s.Write(s.Calls("", touch)) }, func() (err error) { id, err = d.Asks(s, touch); return err }, func() error {
				p, err := d.AwaitPrompt()
				if err == nil {
					err = d.Turn(p, func() error { return d.Say("", "re: "+p.Text) })
				}
				return err
			}, func() error { return answeredFor(d, s, id, touch) })
		})))
		answer := make(chan string, 1)
		e.onAsk = func(id, _ json.RawMessage) bool { answer <- string(id); return true }
		require.Equal(t, "end_turn", e.run("go"))
		id := <-answer
		require.Equal(t, "end_turn", e.run("hello"))
		require.NotContains(t, e.told(), "waits for your answer")
		e.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":{"outcome":"cancelled"}}}`)
		time.Sleep(time.Minute)
		require.Equal(t, "failed", e.callOf(".t1").status)
	})
}
