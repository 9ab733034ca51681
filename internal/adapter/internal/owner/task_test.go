package owner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTaskHasTheOwnerBetweenItsWaits: what a task does between two waits is done alone, also where another task wakes
// it, and what it does beside holds up nobody.
func TestTaskHasTheOwnerBetweenItsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := startOwner(t, Duties[int]{})
		var did []string
		why := errors.New("why")
		o.Post(func() {
			var first *Task
			o.Go(func(t *Task) {
				first = t
				did = append(did, "first waits")
				did = append(did, "first: "+t.Pause().Error())
			})
			o.Go(func(t *Task) {
				did = append(did, "second works beside")
				t.Beside(func(context.Context) { time.Sleep(time.Second) })
				first.Resume(why)
				did = append(did, "second ends")
			})
			did = append(did, "the owner goes on")
		})
		synctest.Wait()
		o.Post(func() { did = append(did, "the owner works") })
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"first waits", "second works beside", "the owner goes on", "the owner works", "first: why", "second ends"}, did)
	})
}

// TestOwnerEndsWithItsTasks: it waits for what a task does beside it, and what a task does beside it after that is done at
// once.
func TestOwnerEndsWithItsTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := startOwner(t, Duties[int]{})
		var did []string
		o.Post(func() {
			o.Go(func(t *Task) {
				t.Beside(func(ctx context.Context) {
					<-ctx.Done()
					time.Sleep(time.Second)
				})
				did = append(did, "once")
				t.Beside(func(context.Context) { time.Sleep(time.Second) })
				did = append(did, "twice")
				o.settled = true
				t.Beside(func(ctx context.Context) { did = append(did, ctx.Err().Error()) })
			})
		})
		synctest.Wait()
		o.Stop()
		<-o.Over
		require.Equal(t, []string{"once", "twice", "context canceled"}, did)
	})
}
