package updates

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/render"
)

// waiting is a dialog whose one step the editor never answers.
type waiting struct{ render.Dialog }

func (waiting) Next() (render.Step, bool) {
	return render.Step{Choice: new(protocol.PermissionParams)}, true
}

// TestQuestionsAreAQueue: one is asked at a time; a cancel refuses droid's alone, the end of a context withdraws the one
// that it is for, and the next is asked when the one before is closed.
func TestQuestionsAreAQueue(t *testing.T) {
	asking(t, func(t *testing.T, w way) {
		var d Questions
		var did []string
		seen := func() (all []string) {
			w.post(func() { all, did = did, nil })
			synctest.Wait()
			return all
		}
		ctx, cancel := context.WithCancel(t.Context())
		ask := func(ctx context.Context, id string) {
			w.post(func() {
				w.monitor.Go(func() {
					q := d.Open(id, nil)
					how := q.Run(ctx, w.Sender, waiting{})
					did = append(did, id+map[Outcome]string{NotWithdrawn: " answered", Refused: " refused", Unanswered: " withdrawn"}[how])
					q.Close()
				})
			})
			synctest.Wait()
		}
		ask(t.Context(), "droid's")
		ask(ctx, "")
		ask(t.Context(), "another of droid's")
		require.Empty(t, seen())
		cancel()
		synctest.Wait()
		require.Equal(t, []string{" withdrawn"}, seen())
		w.post(func() { d.Withdraw("droid's") })
		synctest.Wait()
		require.Equal(t, []string{"droid's withdrawn"}, seen())
		ask(t.Context(), "")
		w.post(d.Refuse)
		synctest.Wait()
		require.Equal(t, []string{"another of droid's refused"}, seen())
		w.post(d.DroidExited)
		synctest.Wait()
		require.Empty(t, seen(), "this agent's own stays")
		w.post(d.End)
		synctest.Wait()
		require.Equal(t, []string{" withdrawn"}, seen())
		require.False(t, d.IsOpen())
	})
}

// The limit of a question counts from when the user is asked it.
func TestLimitOfAQuestion(t *testing.T) {
	asking(t, func(t *testing.T, w way) {
		var d Questions
		first, late := d.Open("r1", nil), false
		w.post(func() {
			w.monitor.Go(func() {
				q := d.Open("", nil)
				q.Limit = time.Minute
				q.Run(t.Context(), w.Sender, waiting{})
				late = q.Late
			})
		})
		time.Sleep(time.Hour)
		w.post(func() { first.Close() })
		time.Sleep(59 * time.Second)
		w.post(func() { require.False(t, late) })
		time.Sleep(2 * time.Second)
		w.post(func() { require.True(t, late) })
		synctest.Wait()
		require.False(t, d.IsOpen())
	})
}

// A refusal that was not given yet is not given once droid is gone: another droid would get it.
func TestRefusalEndsWithDroid(t *testing.T) {
	var d Questions
	var outcomes []Outcome
	q := d.Open("r1", func(how Outcome) { outcomes = append(outcomes, how) })
	d.Refuse() // while it does not wait, as when a permission is prepared
	require.Empty(t, outcomes)
	d.DroidExited()
	require.Equal(t, []Outcome{Unanswered}, outcomes)
	require.False(t, d.IsOpen(), "the next droid's questions do not wait for it")
	require.Equal(t, Unanswered, q.Close())
}

// The context of a question ends when the question is withdrawn, and has ended where that was before.
func TestContextOfAQuestion(t *testing.T) {
	var d Questions
	q := d.Open("r1", nil)
	before, cancel := q.Context(t.Context())
	defer cancel()
	require.NoError(t, before.Err())
	d.Refuse() // while the answer is prepared
	require.Error(t, before.Err())
	behind, cancel := q.Context(t.Context())
	defer cancel()
	require.Error(t, behind.Err())
}
