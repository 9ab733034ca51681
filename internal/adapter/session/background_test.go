package session_test

import (
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

// TestBackgroundCommandEndsTold: before droid ends and a background command with it, the user is asked, and is notified afterwards.
func TestBackgroundCommandEndsTold(t *testing.T) {
	for _, command := range []string{"/compact", "/rewind 1"} {
		t.Run(command[1:], func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				serve, _ := leaves(t)
				f := newFleet(t, v, toolFor("serve", serve))
				e := begin(t, func(n int) (*droid.Client, error) {
					client, err := f.start(n)
					client.StubChildren(func() bool { return n <= 2 })
					return client, err
				})
				require.Equal(t, "end_turn", e.run("serve"))
				goesOn := command != "/compact" && strings.Contains(t.Name(), string(fakedroid.V0225))
				if !goesOn {
					e.ask = func(p permission) string {
						require.Contains(t, encoded(t, p.ToolCall.Content), "in the background ends with that")
						return "keep"
					}
					require.Contains(t, e.answerTo(command), "The conversation stays as it is.")
					require.NotContains(t, e.told(), "was ended")
				}
				e.ask = allowOnce
				require.Equal(t, "end_turn", e.run(command))
				require.Equal(t, "end_turn", e.run("hello"))
				require.Equal(t, !goesOn, strings.Contains(e.told(), "ran in the background was ended"), e.told())
			})
		})
	}
}

// toolFor uses a tool for one prompt, takes its time for another one, and answers the others.
func toolFor(text string, tool fakedroid.Tool) fakedroid.Script {
	return eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
		switch p.Text {
		case text:
			return d.Use("", "", tool)
		case "wait":
			return d.Pause(time.Minute)
		}
		return d.Say("", "re: "+p.Text)
	})
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

// leaving is an editor whose droid leaves a command in the background on request.
type leaving struct {
	*editor
	*leftRun
	output *os.File
}

// leaves is a tool that leaves a command in the background, and the file that this writes to.
func leaves(t *testing.T) (serve fakedroid.Tool, output *os.File) {
	t.Helper()
	output, err := os.CreateTemp("", "droid-bg-*.out") // digits, as droid has them
	require.NoError(t, err)
	t.Cleanup(func() { _ = output.Close(); _ = os.Remove(output.Name()) })
	serve = touch
	serve.Input = fakedroid.Fields{"command": "npm run dev", "fireAndForget": true}
	serve.Result = "Background process started (PID: 554)\nCommand: npm run dev\nOutput: " + output.Name() + "\nStatus: Running in background\n\nNote: Process will continue after CLI exits."
	return serve, output
}

func beginLeaving(t *testing.T, capabilities string) leaving {
	t.Helper()
	l := leaving{leftRun: &leftRun{}}
	serve, output := leaves(t)
	l.output = output
	f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), toolFor("serve", serve))
	l.editor = beginNamed(t, "zed", capabilities, func(n int) (*droid.Client, error) {
		client, err := f.start(n)
		client.StubChildren(l.Runs)
		client.StubBackground(func(id int) (droid.BackgroundCommand, error) {
			if id != 554 || n > 1 {
				return nil, nil
			}
			return l.leftRun, nil
		})
		return client, err
	})
	require.Equal(t, "end_turn", l.run("serve"))
	time.Sleep(time.Minute) // for what else is sent after a turn
	return l
}

// since returns the messages after the first n.
func (e *editor) since(n int) string {
	var b strings.Builder
	for _, m := range e.received()[n:] {
		b.WriteString(m.Raw + "\n")
	}
	return b.String()
}

const inTerminals, withAsyncTasks = `{"_meta":{"terminal_output":true}}`, `{"_meta":{"jetbrains":{"air":{"version":1,"capabilities":["asyncTasks"]}}}}`

// The output of a background command is shown once, also after a load, and of its other events only the end.
func TestBackgroundCommandIsFollowed(t *testing.T) {
	for capabilities, wrote := range map[string]string{inTerminals: `"data":"ready\n"`, withAsyncTasks: `"summary":"ready"`, `{}`: ""} {
		synctest.Test(t, func(t *testing.T) {
			e := beginLeaving(t, capabilities)
			n := len(e.received())
			nothing := func() {
				time.Sleep(5 * time.Minute)
				require.Empty(t, e.since(n))
			}
			nothing()
			if capabilities == inTerminals {
				require.Nil(t, e.call("session/load", e.inSession(`,"cwd":"/workspace","mcpServers":[]`)).Error)
				time.Sleep(time.Minute) // for what else is sent after it
				n = len(e.received())
			}
			_, _ = e.output.WriteString("ready\n")
			time.Sleep(time.Second)
			if wrote == "" {
				require.Empty(t, e.since(n))
			} else {
				require.Equal(t, 1, strings.Count(e.since(n), wrote))
			}
			e.ended.Store(true)
			time.Sleep(time.Second)
			told := 0
			if wrote == "" { // else the terminal or the task tells
				told = 1
			}
			require.Equal(t, told, strings.Count(e.since(n), "ran in the background has ended"), e.since(n))
			n = len(e.received())
			nothing()
		})
	}
}

// The user lists what runs and stops it, by either way.
func TestBackgroundCommandIsStopped(t *testing.T) {
	for _, way := range []string{"/background stop 1", "_session/async_task/stop"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := beginLeaving(t, withAsyncTasks)
				n := len(e.received())
				time.Sleep(time.Minute)
				require.Equal(t, "end_turn", e.run("/background"))
				require.Contains(t, e.since(n), "- 1: `npm run dev`, for 2m0s, process 554")
				stop := func() string {
					if way != "_session/async_task/stop" {
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

// A disk that hangs while the output is read delays nothing; if no output can be read, a message says so.
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
