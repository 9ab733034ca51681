package adapter

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/fakedroid"
	"droid-acp/internal/options"
)

// TestFoldedPromptIsNoEmptyAnswer: a prompt that went into the running turn is
// answered by that turn.
func TestFoldedPromptIsNoEmptyAnswer(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(new(slow).script(), v, fakedroid.WithFolding(), fakedroid.WithPace(100*time.Millisecond)))
		require.Nil(t, e.set("follow_up", options.Steer).Error)
		first := e.prompt("tool first")
		time.Sleep(150 * time.Millisecond)
		second := e.prompt("second")
		require.Equal(t, "end_turn", ended(e.await(first)))
		require.Equal(t, "end_turn", ended(e.await(second)))
		got := strings.Join(e.updates(), "\n")
		require.Contains(t, got, "added to the running turn")
		require.NotContains(t, got, "empty answer")
	})
}

// TestEmptyAnswerIsTold: a turn that brought nothing to see says so.
func TestEmptyAnswerIsTold(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(eachPrompt(func(*fakedroid.Droid, fakedroid.Prompt) error { return nil }), v))
		require.Equal(t, "end_turn", e.run("go"))
		require.Contains(t, e.updates(), "notice: The model gave an empty answer.\n\n")
	})
}

// TestCommandIsNotSteered: it is not droid's. It waits for the running turn, and
// so does what was sent after it.
func TestCommandIsNotSteered(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		script := new(slow)
		e := begin(t, playing(script.script(), v, fakedroid.WithFolding(), fakedroid.WithPace(100*time.Millisecond)))
		require.Nil(t, e.set("follow_up", options.Steer).Error)
		first := e.prompt("tool first")
		time.Sleep(150 * time.Millisecond)
		command, third := e.prompt("/help"), e.prompt("third")
		for _, id := range []string{first, command, third} {
			require.Equal(t, "end_turn", ended(e.await(id)))
		}
		require.Equal(t, []string{"tool first", "third"}, script.texts)
		got := strings.Join(e.updates(), "\n")
		require.NotContains(t, got, "added to the running turn")
		require.Less(t, strings.Index(got, "agent: Done."), strings.Index(got, "/compact"))
		require.Less(t, strings.Index(got, "/compact"), strings.Index(got, "Answer to third"))
	})
}

// TestPromptBehindACancelIsNotSteered: it would be thrown away with the turn that
// is being cancelled.
func TestPromptBehindACancelIsNotSteered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told strings.Builder
		e := begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) { told.Write(line) }, new(slow).script(), fakedroid.WithFolding(), fakedroid.WithPace(100*time.Millisecond), fakedroid.WithLateInterrupts()), nil
		})
		require.Nil(t, e.set("follow_up", options.Steer).Error)
		first := e.prompt("stream first")
		time.Sleep(150 * time.Millisecond)
		e.cancel()
		second := e.prompt("second")
		require.Equal(t, "cancelled", ended(e.await(first)))
		require.Equal(t, "end_turn", ended(e.await(second)))
		require.Equal(t, 1, strings.Count(told.String(), `"second"`), "sent once, when it could run")
	})
}
