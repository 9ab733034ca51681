package adapter

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// TestBackgroundCommandEndsTold: whatever ends a droid that has left a command in the background, the user is
// asked before, or told.
func TestBackgroundCommandEndsTold(t *testing.T) {
	background := touch
	background.Input = fakedroid.Fields{"command": "sleep 1000", "fireAndForget": true}
	background.Result = "Background process started (PID: 554)\n"
	server := `,"cwd":"/workspace","mcpServers":[{"name":"m","command":"/bin/true","args":[],"env":[]}]`
	for name, end := range map[string]func(e *editor){
		"/compact":                   func(e *editor) { require.Equal(t, "end_turn", e.run("/compact")) },
		"/rewind":                    func(e *editor) { require.Equal(t, "end_turn", e.run("/rewind 1")) },
		"a load with a server":       func(e *editor) { require.Nil(t, e.call("session/load", e.inSession(server)).Error) },
		"session/close":              func(e *editor) { require.Nil(t, e.call("session/close", e.inSession("")).Error) },
		"a turn that is not stopped": func(e *editor) { e.inside(func(s *Session) { s.endDroid(killed, "test") }) },
	} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				f := newFleet(t, v, eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
					if p.Text == "background" {
						return d.Use("", "", background)
					}
					return d.Say("", "re: "+p.Text)
				}))
				runs := true
				e := begin(t, func(n int) (*droid.Client, error) {
					client, err := f.start(n)
					client.PlayChildren(func() bool { return n <= 2 && runs })
					return client, err
				})
				said := func() string { return strings.Join(e.updates(), "\n") }
				require.Equal(t, "end_turn", e.run("background"))
				goesOn := name == "/rewind" && strings.Contains(t.Name(), string(fakedroid.V0225))
				if strings.HasPrefix(name, "/") && !goesOn {
					e.ask = func(p permission) string {
						text, _ := json.Marshal(p.ToolCall.Content)
						require.Contains(t, string(text), "in the background ends with that")
						return "keep"
					}
					end(e)
					require.Contains(t, said(), "The conversation stays as it is.")
					require.NotContains(t, said(), "was ended")
				}
				e.ask = func(p permission) string { return p.optionOf("allow_once") }
				end(e)
				if name != "session/close" {
					require.Equal(t, "end_turn", e.run("hello"))
				}
				require.Equal(t, !goesOn, strings.Contains(said(), "ran in the background was ended"), said())
			})
		})
	}
}

// leftRun is a command in the background of a fake droid.
type leftRun struct {
	ended atomic.Bool
	stays atomic.Bool // it ends by nothing
}

func (l *leftRun) Runs() bool { return !l.ended.Load() }

func (l *leftRun) End(grace time.Duration) (gone bool) {
	time.Sleep(grace / 2)
	if !l.stays.Load() {
		l.ended.Store(true)
	}
	return l.ended.Load()
}

// leaving is an editor whose droid leaves a command in the background when it is told to.
type leaving struct {
	*editor
	*leftRun
	output *os.File
}

func beginLeaving(t *testing.T, capabilities string) leaving {
	t.Helper()
	var err error
	l := leaving{leftRun: &leftRun{}}
	l.output, err = os.CreateTemp("", "droid-bg-*.out") // digits, as droid has them
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.output.Close(); _ = os.Remove(l.output.Name()) })
	serve := touch
	serve.Input = fakedroid.Fields{"command": "npm run dev", "fireAndForget": true}
	serve.Result = "Background process started (PID: 554)\nCommand: npm run dev\nOutput: " + l.output.Name() + "\nStatus: Running in background\n\nNote: Process will continue after CLI exits."
	f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
		if p.Text == "serve" {
			return d.Use("", "", serve)
		}
		return d.Say("", "re: "+p.Text)
	}))
	l.editor = beginNamed(t, "zed", capabilities, func(n int) (*droid.Client, error) {
		client, err := f.start(n)
		client.PlayChildren(l.Runs)
		client.PlayLeft(func(id int) (droid.Left, error) {
			if id != 554 || n > 1 {
				return nil, nil
			}
			return l.leftRun, nil
		})
		return client, err
	})
	require.Equal(t, "end_turn", l.run("serve"))
	time.Sleep(time.Minute) // what else is told after a turn
	return l
}

// since is what came after the first n lines.
func (e *editor) since(n int) string {
	var b strings.Builder
	for _, m := range e.received()[n:] {
		b.WriteString(m.Raw + "\n")
	}
	return b.String()
}

const inTerminals, withAsyncTasks = `{"_meta":{"terminal_output":true}}`, `{"_meta":{"jetbrains":{"air":{"version":1,"capabilities":["asyncTasks"]}}}}`

// A command in the background is shown while it runs, and when it has ended.
func TestBackgroundCommandIsFollowed(t *testing.T) {
	for name, tc := range map[string]struct{ capabilities, wrote, ended string }{
		"terminals": {inTerminals, `"data":"ready\n"`, `"terminal_exit":{"terminal_id":"t1","exit_code":null`},
		"others":    {`{}`, "", `The end of its output:\n` + "```console" + `\nready\nbye\n`},
		"Air":       {withAsyncTasks, `"summary":"ready"`, `"state":"completed"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := beginLeaving(t, tc.capabilities)
				n := len(e.received())
				time.Sleep(5 * time.Minute)
				require.Empty(t, e.since(n), "nothing is said of a command that says nothing")
				_, _ = e.output.WriteString("ready\n")
				time.Sleep(time.Second)
				wrote := e.since(n)
				require.Contains(t, wrote, tc.wrote)
				require.Equal(t, tc.wrote == "", wrote == "", wrote)
				n = len(e.received())
				_, _ = e.output.WriteString("bye\n")
				e.ended.Store(true)
				time.Sleep(time.Second)
				require.Contains(t, e.since(n), tc.ended)
				require.NotContains(t, e.since(n), `"exit_code":0`)
				require.Equal(t, map[string]int{"others": 1}[name], strings.Count(e.since(n), "A command that droid ran in the background has ended"), "once is enough")
				require.Contains(t, e.since(n), map[bool]string{true: `bye\n`, false: `ready\nbye\n`}[name == "terminals"], "what it wrote is shown")
				n = len(e.received())
				time.Sleep(5 * time.Minute)
				require.Empty(t, e.since(n))
				require.Equal(t, "end_turn", e.run("/background"))
				require.Contains(t, e.since(n), "Nothing runs in the background")
			})
		})
	}
}

// The user lists what runs and stops it, by either way.
func TestBackgroundCommandIsStopped(t *testing.T) {
	for _, way := range []string{"/background stop 1", methodStopTask} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := beginLeaving(t, withAsyncTasks)
				n := len(e.received())
				time.Sleep(time.Minute)
				require.Equal(t, "end_turn", e.run("/background"))
				require.Contains(t, e.since(n), "- 1: `npm run dev`, for 2m0s, process 554")
				stop := func() string {
					if way != methodStopTask {
						require.Equal(t, "end_turn", e.run(way))
						return e.since(n)
					}
					id := strings.TrimSuffix(filepath.Base(e.output.Name()), ".out")
					return string(e.call(way, fmt.Sprintf(`{"sessionId":%q,"asyncTaskId":%q}`, e.session, id)).Result)
				}
				e.stays.Store(true)
				require.Contains(t, strings.Replace(stop(), "was not stopped", `{"stopped":false}`, 1), `{"stopped":false}`)
				require.NotContains(t, e.since(n), "async_task_state_update")
				e.stays.Store(false)
				require.Contains(t, strings.Replace(stop(), "Stopped: `npm run dev`", `{"stopped":true}`, 1), `{"stopped":true}`)
				require.Contains(t, e.since(n), `"state":"stopped"`)
				n = len(e.received())
				require.Contains(t, strings.Replace(stop(), "No command in the background has the number 1", `{"stopped":false}`, 1), `{"stopped":false}`)
				time.Sleep(time.Minute)
				require.NotContains(t, e.since(n), "has ended")
			})
		})
	}
}

// A load while droid goes on shows the command as running; one after droid has ended as ended.
func TestBackgroundCommandOfALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := beginLeaving(t, inTerminals)
		_, _ = e.output.WriteString("ready\n")
		time.Sleep(time.Second)
		n := len(e.received())
		require.Nil(t, e.call("session/load", e.inSession(`,"cwd":"/workspace","mcpServers":[]`)).Error)
		require.Contains(t, e.since(n), "It runs in the background")
		require.Contains(t, e.since(n), `"data":"ready\n"`)
		n = len(e.received())
		_, _ = e.output.WriteString("more\n")
		time.Sleep(time.Second)
		require.Contains(t, e.since(n), `"data":"more\n"`)
		require.Equal(t, 1, strings.Count(e.since(n), `"data":"more\n"`))

		e.inside(func(s *Session) { s.proc.Client().Kill() }) // nobody of ours, and it was left behind
		time.Sleep(5 * time.Second)
		require.True(t, e.leftRun.ended.Load(), "nobody is left behind")
		require.Contains(t, e.since(n), "ran in the background was ended")
		require.Contains(t, e.since(n), "terminal_exit")
		n = len(e.received())
		require.Nil(t, e.call("session/load", e.inSession(`,"cwd":"/workspace","mcpServers":[]`)).Error)
		require.Contains(t, e.since(n), "ended with droid")
		require.NotContains(t, e.since(n), "CLI exits")

		var asked []string
		e.agent.stays = func(process int, output string) bool {
			asked = append(asked, fmt.Sprint(process, " ", output))
			return true
		}
		n = len(e.received())
		require.Nil(t, e.call("session/load", e.inSession(`,"cwd":"/workspace","mcpServers":[]`)).Error)
		require.Contains(t, e.since(n), "may still run: as process 554")
		require.NotContains(t, e.since(n), "ended with droid")
		require.Equal(t, []string{"554 " + e.output.Name()}, asked)
	})
}

// A disk that hangs with the output holds up nobody, and where nothing can be seen that is said.
func TestBackgroundOnADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := beginLeaving(t, inTerminals)
		e.hanging.begin("Watch.Look")
		time.Sleep(time.Minute)
		require.True(t, e.hanging.wasReached())
		n := len(e.received())
		require.Equal(t, "end_turn", e.run("hello"))
		require.Equal(t, "end_turn", e.run("/background"))
		require.Contains(t, e.since(n), "npm run dev")
		e.hanging.begin("")
		e.hanging.revive()
		_, _ = e.output.WriteString("ready\n")
		time.Sleep(time.Minute)
		require.Contains(t, e.since(n), `"data":"ready\n"`)
	})
}
