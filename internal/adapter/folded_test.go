package adapter

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
)

// TestFoldedPromptIsNoEmptyAnswer: a prompt that went into the running turn is
// answered by that turn.
func TestFoldedPromptIsNoEmptyAnswer(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(new(slow).script(), v, fakedroid.WithFolding(), fakedroid.WithPace(100*time.Millisecond)))
		require.Nil(t, e.set("follow_up", followUpSteer).Error)
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
		e := begin(t, playing(turns(func(*fakedroid.Droid, fakedroid.Prompt) error { return nil }), v))
		require.Equal(t, "end_turn", e.run("go"))
		require.Contains(t, e.updates(), "thought: The model gave an empty answer.")
	})
}
