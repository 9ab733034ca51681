package waiting

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/owner"
)

// waits runs an owner with a Line until the test ends.
func waits(t *testing.T, there map[Need]bool) (*owner.Owner, *Waits) {
	o := owner.New(context.Background(), zap.NewNop(), func(any) {})
	l := New(o, func(n Need) bool { return there[n] }, func() {})
	go owner.Run(o, owner.Duties[int]{
		Await: func() (<-chan int, <-chan struct{}, time.Time) { return nil, nil, time.Time{} },
		After: l.Proceed, End: o.Settle, Ended: func() {},
	})
	t.Cleanup(func() {
		o.Stop()
		<-o.Over
	})
	return o, l
}

// TestTasksInLine: a task goes on when its need is there, when its context ends or when the line does; who takes the
// same goes in the order of coming; who was woken by its context has taken nothing.
func TestTasksInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := map[Need]bool{}
		o, l := waits(t, there)
		over := errors.New("over")
		var did []string
		seen := func() (all []string) { // since the last look
			o.Post(func() { all, did = did, nil })
			synctest.Wait()
			return all
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		holder := func(ctx context.Context, name string, f func(t *owner.Task)) {
			o.Post(func() {
				o.Go(func(t *owner.Task) {
					release, err := l.Take(ctx, t, name, "droid")
					if err != nil {
						did = append(did, name+": "+err.Error())
						return
					}
					defer release()
					did = append(did, name)
					f(t)
				})
			})
			synctest.Wait()
		}
		holder(t.Context(), "first", func(t *owner.Task) { t.Beside(func(context.Context) { time.Sleep(time.Minute) }) })
		holder(ctx, "second", func(*owner.Task) {})
		holder(t.Context(), "third", func(*owner.Task) {})
		require.Equal(t, []string{"first"}, seen())
		cancel(errors.New("cancelled"))
		synctest.Wait()
		require.Equal(t, []string{"second: cancelled"}, seen())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"third"}, seen())

		ready := false
		wait := func(name string, f func(t *owner.Task) error) {
			o.Post(func() {
				o.Go(func(t *owner.Task) {
					if err := f(t); err != nil {
						name += ": " + err.Error()
					}
					did = append(did, name)
				})
			})
			synctest.Wait()
		}
		wait("needs", func(task *owner.Task) error { return l.Until(t.Context(), task, "needs", "x") })
		wait("ready", func(task *owner.Task) error {
			return l.UntilReady(t.Context(), task, "ready", "y", func() bool { return ready })
		})
		wait("never", func(task *owner.Task) error { return l.Until(t.Context(), task, "never", "z") })
		require.Empty(t, seen())
		o.Post(func() { there["x"] = true })
		synctest.Wait()
		o.Post(func() { ready = true })
		synctest.Wait()
		o.Post(func() { l.End(over) })
		synctest.Wait()
		wait("late", func(task *owner.Task) error { return l.Until(t.Context(), task, "late", "x") })
		require.Equal(t, []string{"needs", "ready", "never: over", "late: over"}, seen())
	})
}
