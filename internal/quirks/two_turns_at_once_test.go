package quirks

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

func TestQuirk31_TwoTurnsAtOnce(t *testing.T) {
	state := func(name, trace string) stream.Event { return stream.WorkingStateChanged{State: name, Trace: trace} }
	two := func(t *testing.T) *talk {
		k := newTalk(t, v099).begin("p1").push(state(stream.StateStreaming, "a"), user("p1", "u1"), delta("a", "x")).
			says(`turn started, prompt "p1", message u1`, `text a "x"`)
		return k.begin("p2").push(state(stream.StateStreaming, "b"), user("p2", "u2"), delta("b", "y"), assistant("b", text("y"))).
			says(`prompt "p2" folded, message u2`, `text b "y"`)
	}
	ended := func(outcome string) []string {
		return []string{`turn ended, prompt "p1", ` + outcome + `, reason ""`, `turn ended, prompt "p2", ` + outcome + `, reason ""`}
	}
	t.Run("both go on to their end", func(t *testing.T) {
		two(t).push(state(stream.StateIdle, "b"), delta("a", "z")).says(`a turn beside prompt "p1"`, `text a "z"`).after(time.Minute).says().
			push(assistant("a", text("xz")), state(stream.StateIdle, "a")).says(ended("completed")...)
	})
	t.Run("the second alone hears the interrupt", func(t *testing.T) {
		two(t).interrupt().push(state(stream.StateIdle, "b")).interrupt().says(`a turn beside prompt "p1"`).push(delta("a", "z")).says(`text a "z"`).
			interrupt().after(time.Minute).says().push(state(stream.StateIdle, "a")).says(ended("cancelled")...)
	})
	t.Run("the first ends right behind the second", func(t *testing.T) {
		two(t).push(state(stream.StateIdle, "b"), assistant("a", text("x"))).says(`a turn beside prompt "p1"`).
			push(state(stream.StateIdle, "a")).says(ended("completed")...)
	})
	t.Run("the first calls a tool", func(t *testing.T) {
		two(t).push(state(stream.StateIdle, "b"), assistant("a", text("x"), use("c1", abc))).
			says(`a turn beside prompt "p1"`, `tool c1 started: Execute {"command":"abc"}`).after(time.Minute).says().
			push(result("c1", "done"), state(stream.StateIdle, "a")).
			says(append([]string{`tool c1 ended "done"`}, ended("completed")...)...)
	})
	t.Run("the first says nothing more", func(t *testing.T) {
		two(t).push(assistant("a", text("x")), state(stream.StateIdle, "b")).says(`a turn beside prompt "p1"`).
			after(1999 * time.Millisecond).says().after(time.Millisecond).says(ended("completed")...)
	})
	t.Run("states before had no trace", func(t *testing.T) {
		newTalk(t, v099).begin("p1").push(state(stream.StateStreaming, ""), user("p1", "u1"), assistant("a", text("x")), state(stream.StateIdle, "a")).
			says(`turn started, prompt "p1", message u1`, `text a "x"`, `turn ended, prompt "p1", completed, reason ""`)
	})
	t.Run("the idle of one that has ended", func(t *testing.T) {
		newTalk(t, v099).begin("p1").push(state(stream.StateStreaming, "a"), user("p1", "u1"), state(stream.StateIdle, "z")).
			says(`turn started, prompt "p1", message u1`, `a turn beside prompt "p1"`).
			push(delta("a", "x"), assistant("a", text("x")), state(stream.StateIdle, "a")).
			says(`text a "x"`, `turn ended, prompt "p1", completed, reason ""`)
	})
	echo := func(requestID, id, trace string) stream.Event {
		ev := user(requestID, id).(stream.MessageCreated)
		ev.Trace = trace
		return ev
	}
	t.Run("the first ends while the second goes on", func(t *testing.T) {
		newTalk(t, v099).begin("p1").push(state(stream.StateStreaming, "a"), echo("p1", "u1", "a"), delta("a", "x")).
			begin("p2").push(state(stream.StateStreaming, "b")).interrupt().push(echo("p2", "u2", "b"), assistant("a", text("x")), state(stream.StateIdle, "a")).
			says(`turn started, prompt "p1", message u1`, `text a "x"`, `prompt "p2" folded, message u2`, `a turn beside prompt "p1"`).
			interrupt().after(time.Minute).says().
			push(delta("b", "y"), assistant("b", text("y")), state(stream.StateIdle, "b")).
			says(append([]string{`text b "y"`}, ended("completed")...)...)
	})
	t.Run("the second is echoed first", func(t *testing.T) {
		newTalk(t, v099).begin("p1").push(state(stream.StateStreaming, "a")).begin("p2").push(state(stream.StateStreaming, "b")).
			push(echo("p2", "u2", "b")).interrupt().push(echo("p1", "u1", "a"), state(stream.StateIdle, "b")).
			says(`turn started, prompt "p2", message u2`, `prompt "p1" folded, message u1`, `a turn beside prompt "p2"`).
			interrupt().after(time.Minute).says().
			push(delta("a", "x"), assistant("a", text("x")), state(stream.StateIdle, "a")).
			says(`text a "x"`, `turn ended, prompt "p2", completed, reason ""`, `turn ended, prompt "p1", completed, reason ""`)
	})
	t.Run("three", func(t *testing.T) {
		newTalk(t, v099).begin("p1").push(state(stream.StateStreaming, "a"), echo("p1", "u1", "a")).
			begin("p2").begin("p3").push(echo("p2", "u2", "b"), echo("p3", "u3", "c"), state(stream.StateIdle, "b"), state(stream.StateIdle, "b")).
			says(`turn started, prompt "p1", message u1`, `prompt "p2" folded, message u2`, `prompt "p3" folded, message u3`, `a turn beside prompt "p1"`).
			push(delta("a", "x"), assistant("a", text("x")), state(stream.StateIdle, "a")).says(`text a "x"`, `a turn beside prompt "p1"`).
			push(state(stream.StateIdle, "c")).says(append(ended("completed"), `turn ended, prompt "p3", completed, reason ""`)...)
	})
	t.Run("a prompt taken into the turn runs no turn of its own", func(t *testing.T) {
		newTalk(t, v099).begin("p1").push(state(stream.StateStreaming, "a"), echo("p1", "u1", "a")).
			begin("p2").push(state(stream.StateStreaming, "c"), echo("p2", "u2", "a"), state(stream.StateStreaming, "a"), state(stream.StateIdle, "a")).
			says(append([]string{`turn started, prompt "p1", message u1`, `prompt "p2" folded, message u2`}, ended("completed")...)...)
	})
}

// However droid's lines about turns at once are mixed, a prompt ends once, after all
// that its turn says.
func TestQuirk31_AnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	for range 2000 {
		const turns = 3
		var lines [turns][]func(k *talk)
		k := newTalk(t, v099)
		for i := range lines {
			p, trace, m := fmt.Sprintf("p%d", i), fmt.Sprintf("t%d", i), fmt.Sprintf("m%d", i)
			say := func(ev stream.Event) { lines[i] = append(lines[i], func(k *talk) { k.push(ev) }) }
			lines[i] = append(lines[i], func(k *talk) { k.begin(p) })
			say(stream.WorkingStateChanged{State: stream.StateStreaming, Trace: trace})
			echo := user(p, "u"+p).(stream.MessageCreated)
			echo.Trace = trace
			say(echo)
			if random.IntN(2) == 0 {
				lines[i] = append(lines[i], func(k *talk) { k.interrupt() })
			}
			say(delta(m, "x"))
			say(delta(m, "y"))
			say(assistant(m, text("xy")))
			say(stream.WorkingStateChanged{State: stream.StateIdle, Trace: trace})
		}
		for left, begun := turns, 0; left > 0; {
			i := random.IntN(turns)
			if len(lines[i]) == 0 || i > begun {
				continue // prompts begin in order
			}
			begun = max(begun, i+1)
			lines[i][0](k)
			if lines[i] = lines[i][1:]; len(lines[i]) == 0 {
				left--
			}
		}
		k.after(time.Minute)
		require.NoError(t, k.check.err)
		said := strings.Join(k.lines, "\n")
		for i := range turns {
			end := strings.Index(said, fmt.Sprintf(`turn ended, prompt "p%d"`, i))
			require.Greater(t, end, strings.LastIndex(said, fmt.Sprintf("text m%d ", i)), said)
			require.Equal(t, 2, strings.Count(said, fmt.Sprintf("text m%d ", i)), said)
		}
		k.exit()
		k.check.over()
		require.NoError(t, k.check.err, said)
	}
}
