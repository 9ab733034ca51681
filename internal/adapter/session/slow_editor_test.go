package session_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
	"droid-acp/internal/testing/fakedroid"
)

// pausedReader is the agent's stdout as an editor sees it that reads only while
// it wants to.
type pausedReader struct {
	in io.Reader

	mu   sync.Mutex
	wait chan struct{} // closed when the pause ends; nil while there is none
}

func (r *pausedReader) pause() {
	r.mu.Lock()
	r.wait = make(chan struct{})
	r.mu.Unlock()
}

func (r *pausedReader) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wait != nil {
		close(r.wait)
		r.wait = nil
	}
}

func (r *pausedReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	wait := r.wait
	r.mu.Unlock()
	if wait != nil {
		<-wait
	}
	return r.in.Read(p)
}

// muchText is as many bytes as may wait for an editor of these tests before droid has to: more than are written at once.
const muchText = 512 << 10

// longWord is the text that the endless script repeats.
var longWord = strings.Repeat("w", 999) + " "

// endless writes words until it is interrupted.
func endless() fakedroid.Script {
	return eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
		if p.Text != "endless" {
			return d.Say("", "here I am")
		}
		for {
			if err := d.Say("", strings.Repeat(longWord, 50)); err != nil {
				return err
			}
		}
	})
}

// TestCancelIsHeardWhileTheEditorReadsNothing: the model writes without end, and the editor reads nothing. Its cancel still reaches droid,
// and droid is read to the end of its turn. What the editor reads afterwards is the text before the cancel, whole and in order, and one
// response.
func TestCancelIsHeardWhileTheEditorReadsNothing(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		told := new(toldLines)
		e := begin(t, func(int) (*droid.Client, error) { return tappedDroid(told.add, endless(), v), nil })
		e.out.pause()
		id := e.prompt("endless")
		synctest.Wait() // all that fits is on its way
		require.Negative(t, told.place(1, `"droid.interrupt_session"`))
		began := time.Now()
		e.cancel()
		synctest.Wait()
		require.GreaterOrEqual(t, told.place(1, `"droid.interrupt_session"`), 0, "droid hears of the cancel")
		var idle bool
		e.inside(func(s *session.Session) { idle = !s.Prompts().RunsOne() && s.Process().Client() != nil })
		require.True(t, idle, "the turn has ended, and droid was not killed for it")
		require.Zero(t, time.Since(began), "nothing waited for a time to pass")

		e.out.resume()
		require.Equal(t, "cancelled", ended(e.await(id)))
		got := e.updates()
		require.Equal(t, "end cancelled", got[len(got)-1])
		text := strings.ReplaceAll(strings.TrimPrefix(got[len(got)-2], "agent: "), "\n\n", "") // between messages
		require.NotEmpty(t, text)
		require.True(t, strings.HasPrefix(strings.Repeat(longWord, len(text)/len(longWord)+1), text), "no piece is missing in between")
		require.Equal(t, "end_turn", e.run("still there?"))
		require.Contains(t, e.updates(), "agent: here I am")
	})
}

// A mode that is set while the editor reads nothing is set at once: droid's answer, which comes behind what it has written, is read.
func TestModeIsSetWhileTheEditorReadsNothing(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(endless(), v))
		require.Nil(t, e.set("mode", "auto-high").Error)
		e.out.pause()
		id := e.prompt("endless")
		synctest.Wait() // all that fits is on its way
		began := time.Now()
		mode := e.request("session/set_mode", e.inSession(`,"modeId":"normal"`))
		synctest.Wait()
		e.inside(func(s *session.Session) { require.Equal(t, stream.ModeNormal, s.OptionState().Mode()) })
		require.Zero(t, time.Since(began))
		e.cancel()
		e.out.resume()
		require.Nil(t, e.await(mode).Error)
		require.Equal(t, "cancelled", ended(e.await(id)))
	})
}

// TestASlowEditorSlowsDroid: without a cancel nothing is dropped, and droid is
// read no further than there is room on the way to the editor.
func TestASlowEditorSlowsDroid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const messages = 80
		line := strings.Repeat("x", muchText/8)
		said := 0
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			for range messages {
				if err := d.Say("", line); err != nil {
					return err
				}
				said++
			}
			return nil
		})))
		e.out.pause()
		id := e.prompt("go")
		synctest.Wait()
		require.Less(t, said, messages/2, "droid waits for the editor")
		time.Sleep(5 * time.Minute)
		e.out.resume()
		require.Equal(t, "end_turn", ended(e.await(id)))
		total := 0
		for _, u := range e.updates() {
			total += strings.Count(u, "x")
			require.NotContains(t, u, "has said nothing", "it is not the model that is silent")
		}
		require.Equal(t, messages*len(line), total)
	})
}

// TestALongHistoryWaitsForTheEditor checks that a history is shown at the editor's pace, as a whole, before the response and before the
// prompt that was sent right after.
func TestALongHistoryWaitsForTheEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const messages = 12
		text := strings.Repeat("x", muchText/8)
		start := shared(fakedroid.WithVersion(fakedroid.V0225), eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if p.Text == "short" {
				return d.Say("", "short")
			}
			for range messages {
				if err := d.Say("", text); err != nil {
					return err
				}
			}
			return nil
		}))
		live := begin(t, start)
		require.Equal(t, "end_turn", live.run("long"))
		live.close()

		again := connect(t, start)
		again.session = live.session
		again.out.pause()
		load := again.request("session/load", sessionParamsOf(live.session))
		prompt := again.prompt("short")
		synctest.Wait()
		again.inside(func(s *session.Session) {
			require.NotNil(t, s.Updates().Full())
			require.True(t, s.ShowsHistory(), "what the editor cannot take yet is not made into messages yet")
		})
		again.out.resume()
		require.Nil(t, again.await(load).Error)
		require.Equal(t, "end_turn", ended(again.await(prompt)))
		shown, answered := 0, false
		for _, m := range again.received() {
			switch {
			case string(m.ID) == load:
				answered = true
				require.Equal(t, messages*len(text), shown, "the whole history comes before the response")
			case strings.HasSuffix(shortUpdate(m.Params), "agent: short"):
				require.True(t, answered, "the prompt waits for the history")
			case strings.HasPrefix(shortUpdate(m.Params), "agent: "):
				shown += strings.Count(shortUpdate(m.Params), "x")
			}
		}
	})
}

// TestCancelledLoadShowsNoMore checks that nothing of a history comes after the response to its load.
func TestCancelledLoadShowsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := shared(fakedroid.WithVersion(fakedroid.V0225), says(strings.Repeat("x", muchText)))
		live := begin(t, start)
		for range 3 {
			require.Equal(t, "end_turn", live.run("long"))
		}
		live.out.pause()
		load := live.request("session/load", sessionParamsOf(live.session))
		synctest.Wait()
		live.notify("$/cancel_request", `{"requestId":`+load+`}`)
		synctest.Wait()
		live.out.resume()
		require.Equal(t, -32800, live.await(load).Error.Code)
		synctest.Wait()
		messages := live.received()
		at := slices.IndexFunc(messages, func(m wireMessage) bool { return string(m.ID) == load })
		for _, m := range messages[at+1:] {
			require.NotContains(t, string(m.Params), "xxx")
		}
	})
}

// TestTheAgentEndsWhileAHistoryWaits checks that the load is answered before the agent ends, even if the editor does not read the answer.
func TestTheAgentEndsWhileAHistoryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := shared(fakedroid.WithVersion(fakedroid.V0225), says(strings.Repeat("x", muchText)))
		live := begin(t, start)
		for range 3 {
			require.Equal(t, "end_turn", live.run("long"))
		}
		live.close()
		again := connect(t, start)
		again.session = live.session
		again.out.pause()
		again.request("session/load", sessionParamsOf(live.session))
		synctest.Wait()
		again.inside(func(s *session.Session) { require.True(t, s.ShowsHistory(), "the load goes on") })
		began := time.Now()
		_ = again.in.Close() // the editor ends and reads nothing more
		<-again.served
		// The agent waits flushTime for the editor, and another one for a request
		// that has no response.
		require.Equal(t, adapter.FlushTime, time.Since(began), "the load was answered")
	})
}

// TestOutputIsNotRepeatedToAnEditorThatReadsNothing: a command may run for hours
// and write all the time.
func TestOutputIsNotRepeatedToAnEditorThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		e.out.pause()
		output := ""
		e.inside(func(s *session.Session) {
			s.Show(quirks.ToolStarted{ID: "x", Name: "Execute"})
			s.Show(quirks.ToolRunning{ID: "x"})
			s.ShowText("m1", strings.Repeat("x", muchText/8)) // the writer waits with it
		})
		synctest.Wait()
		e.inside(func(s *session.Session) { s.ShowText("m2", strings.Repeat("x", muchText)) })
		for i := range 50 {
			e.inside(func(s *session.Session) {
				output += fmt.Sprintf("more %d ", i)
				s.Show(quirks.ToolProgress{ID: "x", Update: stream.ProgressUpdate{FullOutput: output}})
			})
			time.Sleep(render.OutputEvery)
		}
		e.inside(func(s *session.Session) {
			s.Show(quirks.ToolEnded{ID: "x", Name: "Execute", Unfinished: true})
		})
		e.out.resume()
		synctest.Wait()
		told := 0
		for _, m := range e.received() {
			if strings.Contains(string(m.Params), "more 0 ") {
				told++
			}
		}
		require.Equal(t, 1, told, "the end has all of it")
	})
}
