package session_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// ownTurn plays a turn that droid begins by itself.
type ownTurn func(d *fakedroid.Droid, body func() error) error

func messageOf(report fakedroid.Prompt) ownTurn {
	return func(d *fakedroid.Droid, body func() error) error { return d.Turn(report, body) }
}

// reporting is a droid that begins a turn by itself a second after its first one, as a subagent's late report causes. It accepts messages
// that arrive during the turn afterwards.
func reporting(report ownTurn) fakedroid.Script {
	return func(d *fakedroid.Droid) error {
		for first := true; ; first = false {
			p, err := d.AwaitPrompt()
			if err == nil {
				err = d.Turn(p, func() error { return d.Say("", "Answer to "+p.Text+".") })
			}
			if err == nil && first {
				err = d.Pause(time.Second)
			}
			if err == nil && first {
				err = report(d, func() error { return d.Say("", "The subagent found three files.") })
			}
			if err != nil {
				return err
			}
		}
	}
}

// TestTurnThatDroidBegins: what droid says without a prompt is shown once, in order; a prompt that arrives during it ends after its own
// answer; a cancel stops both. No response has the stop reason of another turn. In addition to a subagent's report (0.215, 0.225), each
// other form is tried that droid has for such messages.
func TestTurnThatDroidBegins(t *testing.T) {
	const said = "The subagent found three files."
	for form, report := range map[string]ownTurn{
		"message":        messageOf(fakedroid.Prompt{Text: "The subagent has ended."}),
		"hidden message": messageOf(fakedroid.Prompt{Text: "The subagent has ended.", Hidden: true}),
		"report": func(d *fakedroid.Droid, body func() error) error {
			return d.Report(d.NewSubagent("look", ""), "completed", "found it", body)
		},
	} {
		for _, behaviour := range []string{options.Queue, options.Steer} {
			during := func(name string, test func(t *testing.T, e *editor)) {
				t.Run(form+"/"+behaviour+"/"+name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						e := begin(t, playing(reporting(report), fakedroid.WithPace(500*time.Millisecond)))
						require.Nil(t, e.set("follow_up", behaviour).Error)
						require.Equal(t, "end_turn", e.run("one"))
						for !strings.Contains(strings.Join(e.updates(), ""), "The subagent") {
							time.Sleep(100 * time.Millisecond)
						}
						test(t, e)
						time.Sleep(time.Minute)
						before := len(e.updates())
						require.Equal(t, "end_turn", e.run("three"))
						require.Contains(t, strings.Join(e.updates()[before-1:], ""), "Answer to three.")
					})
				})
			}
			during("alone", func(t *testing.T, e *editor) {
				time.Sleep(time.Minute)
				require.Equal(t, []string{"agent: Answer to one.", "end end_turn", "agent: \n\n" + said}, e.updates())
			})
			during("a prompt", func(t *testing.T, e *editor) {
				require.Equal(t, "end_turn", e.run("two"))
				require.Equal(t, []string{"agent: Answer to one.", "end end_turn", "agent: \n\n" + said + "\n\nAnswer to two.", "end end_turn"}, e.updates())
			})
			during("a cancel", func(t *testing.T, e *editor) {
				e.cancel()
				time.Sleep(time.Minute)
				got := e.updates()
				require.Equal(t, []string{"agent: Answer to one.", "end end_turn"}, got[:2])
				require.Len(t, got, 3)
				require.NotContains(t, got[2], "files", "it was stopped")
			})
			during("a prompt and a cancel", func(t *testing.T, e *editor) {
				two := e.prompt("two")
				time.Sleep(100 * time.Millisecond)
				e.cancel()
				require.Equal(t, "cancelled", ended(e.await(two)))
				got := strings.Join(e.updates(), "\n")
				require.NotContains(t, got, "files")
				require.NotContains(t, got, "Answer to two")
			})
		}
	}
}

// TestStricterModeDuringAnOwnTurn checks that a stricter mode is set at once, also where droid has accepted a prompt in a turn of its own.
func TestStricterModeDuringAnOwnTurn(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(reporting(messageOf(fakedroid.Prompt{Text: "The subagent has ended."})), fakedroid.WithPace(5*time.Second), v))
		require.Nil(t, e.set("mode", "auto-high").Error)
		require.Equal(t, "end_turn", e.run("one"))
		time.Sleep(10 * time.Second)
		two := e.prompt("two")
		time.Sleep(time.Second)
		require.Nil(t, e.set("mode", "normal").Error)
		require.NotContains(t, strings.Join(e.updates(), ""), "files", "droid's own turn has not ended")
		require.Equal(t, "end_turn", ended(e.await(two)))
	})
}

// TestOwnTurnComesBehindTheResponse checks that a turn that droid begins right after another one is shown after the response to that one.
func TestOwnTurnComesBehindTheResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(func(d *fakedroid.Droid) error {
			p, err := d.AwaitPrompt()
			if err == nil {
				err = d.Turn(p, func() error { return d.Say("", "Answer.") })
			}
			if err == nil {
				err = d.Turn(fakedroid.Prompt{Text: "The subagent has ended.", Hidden: true}, func() error { return d.Say("", "Found.") })
			}
			return err
		}))
		require.Equal(t, "end_turn", e.run("one"))
		e.until("the own turn is told", func() bool { return strings.Contains(strings.Join(e.updates(), ""), "Found.") })
		require.Equal(t, []string{"agent: Answer.", "end end_turn", "agent: \n\nFound."}, e.updates())
	})
}

// A droid that works without a prompt is not parked.
func TestTurnThatDroidBeginsKeepsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := connect(t, playing(reporting(messageOf(fakedroid.Prompt{Text: "The subagent has ended."})), fakedroid.WithPace(5*time.Second)))
		e.agent.Config.ParkAfter = 10 * time.Second
		e.beginSession()
		require.Equal(t, "end_turn", e.run("one"))
		time.Sleep(15 * time.Second)
		require.False(t, e.parked())
		time.Sleep(10 * time.Minute)
		require.Contains(t, strings.Join(e.updates(), ""), "three files.")
		require.True(t, e.parked())
	})
}

// reportsAndAsks is a droid that begins another turn a second after its first one, in which it says something and requests a permission.
func reportsAndAsks(d *fakedroid.Droid) error {
	p, err := d.AwaitPrompt()
	if err == nil {
		err = d.Turn(p, func() error { return d.Say("", "one") })
	}
	if err == nil {
		err = d.Pause(time.Second)
	}
	if err == nil {
		err = d.Turn(fakedroid.Prompt{Text: "The subagent has ended."}, func() error { return d.Use("", "It found three files.", touch) })
	}
	if err == nil {
		err = eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error { return d.Say("", "re: "+p.Text) })(d)
	}
	return err
}

// TestLoadThatReplacesAnAskingDroid: its question is withdrawn, the user is notified that its turn has ended, and the session is parked
// later.
func TestLoadThatReplacesAnAskingDroid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sessions := fakedroid.WithSessions(new(fakedroid.Sessions))
		e := connect(t, func(n int) (*droid.Client, error) {
			if n > 1 {
				return fakeDroid(says("hello"), sessions), nil
			}
			return fakeDroid(reportsAndAsks, sessions), nil
		})
		e.agent.Config.ParkAfter = time.Minute
		e.beginSession()
		e.ask = nil
		require.Equal(t, "end_turn", e.run("go"))
		time.Sleep(5 * time.Second)
		require.Contains(t, e.updates(), "ask")
		require.Nil(t, e.call("session/load", e.inSession(`,"cwd":"/workspace","mcpServers":[{"name":"m","command":"/bin/true","args":[],"env":[]}]`)).Error)
		require.Contains(t, e.updates(), "withdrawn")
		require.Equal(t, 2, e.starts)
		time.Sleep(5 * time.Minute)
		require.True(t, e.parked())
		require.Equal(t, "end_turn", e.run("more"))
		require.Contains(t, strings.Join(e.updates(), "\n"), "What droid was doing by itself ended, since its process has.")
	})
}

// A load in the process whose own turn waits for a permission leaves the call open, and its question.
func TestLoadWhileAnOwnTurnAsks(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := connect(t, playing(reportsAndAsks, fakedroid.WithSessions(new(fakedroid.Sessions)), v))
		asked := make(chan [2]json.RawMessage, 1)
		e.onAsk = func(id, params json.RawMessage) bool { asked <- [2]json.RawMessage{id, params}; return true }
		e.beginSession()
		require.Equal(t, "end_turn", e.run("go"))
		time.Sleep(5 * time.Second)
		question := <-asked
		before := len(e.updates())
		require.Nil(t, e.call("session/load", e.inSession(`,"cwd":"/workspace","mcpServers":[]`)).Error)
		told := strings.Join(e.updates()[before:], "\n")
		require.Contains(t, told, "tool_call t1 pending touch a")
		require.NotContains(t, told, "failed")
		e.answer(question[0], question[1], allowOnce)
		time.Sleep(5 * time.Second)
		require.Contains(t, e.updates()[before:], "tool_call_update t1 completed")
	})
}

// TestQuestionWaitsForAPrompt: a client that ignores updates and requests while none of its prompts runs, or drops them with the next
// response, is asked when one runs. A cancel and droid's end withdraw the question as they do when the user sees it.
func TestQuestionWaitsForAPrompt(t *testing.T) {
	for name, next := range map[string]func(e *editor){
		"a prompt": func(e *editor) {
			e.ask = func(p permission) string { return p.Option("allow_once") }
			require.Equal(t, "end_turn", e.run("more"))
			require.Contains(t, e.updates(), "ask")
			said := strings.Join(e.updates(), "\n")
			require.NotContains(t, said, "your answer above")
			require.Regexp(t, `(?s)end end_turn.*three files\..*ask.*re: more`, said, "what was said before is not lost, either")
			require.Equal(t, 1, strings.Count(said, "three files."))
		},
		"a command of ours": func(e *editor) {
			e.run("/help")
			require.Contains(t, e.updates(), "ask")
		},
		"a cancel": func(e *editor) {
			e.cancel()
			time.Sleep(time.Second)
			e.inside(func(s *session.Session) { require.False(t, s.Questions().IsOpen()) })
			require.NotContains(t, strings.Join(e.updates(), "\n"), "notice")
			require.Equal(t, "end_turn", e.run("more"))
			require.NotContains(t, e.updates(), "ask")
		},
		"droid's end": func(e *editor) {
			e.inside(func(s *session.Session) { s.KillDroid() })
			time.Sleep(time.Second)
			e.inside(func(s *session.Session) { require.False(t, s.Questions().IsOpen()) })
			require.NotContains(t, e.updates(), "ask")
			require.NotContains(t, strings.Join(e.updates(), "\n"), "notice", "what explains the choices belongs to a question that nobody is asked")
		},
	} {
		for _, client := range []string{"CodeCompanion.nvim", "vscode-acp-client"} {
			t.Run(client+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := beginNamed(t, client, "{}", playing(reportsAndAsks))
					e.ask = nil
					require.Equal(t, "end_turn", e.run("go"))
					time.Sleep(time.Minute)
					e.inside(func(s *session.Session) { require.True(t, s.Questions().IsOpen()) })
					require.NotContains(t, e.updates(), "ask")
					require.NotContains(t, strings.Join(e.updates(), "\n"), "three files.")
					next(e)
				})
			})
		}
	}
}

// TestMuchIsSaidBetweenPrompts checks that the text which a client gets only with its next prompt is bounded, and that a notice, once, says
// if some was dropped.
func TestMuchIsSaidBetweenPrompts(t *testing.T) {
	const line = "The beginning of what droid said since your last prompt is left out here"
	for words, cut := range map[int]bool{100: false, 20_000: true} {
		synctest.Test(t, func(t *testing.T) {
			e := beginNamed(t, "CodeCompanion.nvim", "{}", playing(reporting(func(d *fakedroid.Droid, _ func() error) error {
				return d.Turn(fakedroid.Prompt{Text: "The subagent has ended.", Hidden: true}, func() error { return d.Say("", "First. "+strings.Repeat("word ", words)+"Last.") })
			})))
			require.Equal(t, "end_turn", e.run("one"))
			time.Sleep(time.Minute)
			require.Equal(t, "end_turn", e.run("two"))
			require.Equal(t, "end_turn", e.run("three"))
			said := strings.Join(e.updates(), "\n")
			require.Contains(t, said, "Last.")
			require.Equal(t, !cut, strings.Contains(said, "First."))
			require.Equal(t, map[bool]int{true: 1}[cut], strings.Count(said, line))
		})
	}
}

// TestPromptBehindAQuestionSaysSo: whether the question is of another prompt, or of a turn that droid began by itself. One that fails at once
// does not wait.
func TestPromptBehindAQuestionSaysSo(t *testing.T) {
	const line = "Your message waits for your answer above."
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(reportsAndAsks))
		e.ask = nil
		require.Equal(t, "end_turn", e.run("go"))
		time.Sleep(5 * time.Second)
		require.NotContains(t, strings.Join(e.updates(), "\n"), line)
		e.prompt("two")
		time.Sleep(time.Second)
		require.Equal(t, 1, strings.Count(strings.Join(e.updates(), "\n"), line))
	})
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(reportsAndAsks, fakedroid.WithVersion(fakedroid.V099)))
		e.ask = nil
		require.Equal(t, "end_turn", e.run("go"))
		time.Sleep(5 * time.Second)
		require.Contains(t, ended(e.await(e.promptIn("two", countsFormat))), "droid 0.215")
		time.Sleep(time.Second)
		require.NotContains(t, strings.Join(e.updates(), "\n"), line)
	})
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(uses(touch)))
		e.ask = nil
		first := e.prompt("one")
		time.Sleep(time.Second)
		second := e.prompt("two")
		time.Sleep(time.Second)
		require.Equal(t, 1, strings.Count(strings.Join(e.updates(), "\n"), line))
		_, ended := e.answered(first)
		require.False(t, ended)
		e.cancel()
		e.await(first)
		e.await(second)
	})
}

// A prompt behind an answer that is still being prepared does not wait for the user, and its sender is not told so.
func TestAnsweredIsNotAwaited(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e, first := preparing(t, touch, "normal", v)
		second := e.prompt("more")
		e.settle()
		said := strings.Join(e.updates(), "\n")
		e.hanging.revive()
		e.onAsk, e.ask = nil, allowOnce
		e.await(first)
		e.await(second)
		require.NotContains(t, said, "waits for your answer")
	})
}

// TestCancelOfAnOwnTurnAsksNoMore: requests of droid's that wait behind the open question are refused with it.
func TestCancelOfAnOwnTurnAsksNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := func(d *fakedroid.Droid) error {
			if _, err := d.Request("droid.ask_user", fakedroid.Fields{"toolCallId": "q", "questions": []any{fakedroid.Fields{"index": 1, "question": "Which?", "options": []string{"a", "b"}}}}); err != nil {
				return err
			}
			return d.Use("", "", touch)
		}
		e := begin(t, playing(reporting(func(d *fakedroid.Droid, _ func() error) error {
			return d.Turn(fakedroid.Prompt{Text: "The subagent has ended.", Hidden: true}, func() error { return asks(d) })
		}), fakedroid.WithVersion(fakedroid.V0225)))
		e.ask = nil
		require.Equal(t, "end_turn", e.run("one"))
		time.Sleep(10 * time.Second)
		require.Equal(t, 1, e.asks(), e.updates())
		e.cancel()
		time.Sleep(time.Minute)
		require.Equal(t, 1, e.asks(), e.updates())
	})
}

// TestLoginLeavesAnOwnTurn checks that a login does not end a turn that droid began.
func TestLoginLeavesAnOwnTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(reporting(messageOf(fakedroid.Prompt{Text: "The subagent has ended.", Hidden: true})), fakedroid.WithPace(500*time.Millisecond)))
		require.Equal(t, "end_turn", e.run("one"))
		for !strings.Contains(strings.Join(e.updates(), ""), "The subagent") {
			time.Sleep(100 * time.Millisecond)
		}
		e.inside(func(s *session.Session) {
			require.True(t, s.Process().Working())
			e.agent.Accounts.Started(s.Process().Client(), -2) // from before a login
			s.RenewIdle()
		})
		time.Sleep(time.Minute)
		require.Contains(t, strings.Join(e.updates(), ""), "The subagent found three files.")
	})
}
