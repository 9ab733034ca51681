package files

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	testBound = 500 * time.Millisecond
	testMost  = 4
)

func TestCallBounded(t *testing.T) {
	c := NewCallLimiter(testMost, time.Minute)
	dir := t.TempDir()
	info, err := CallBounded(context.Background(), c, "test", dir, os.Stat)
	require.NoError(t, err)
	require.True(t, info.IsDir())
	_, err = CallBounded(context.Background(), c, "test", dir+"/none", os.Stat)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// slow is a file system in which every path but "fine" hangs until it is revived.
type slow struct {
	revived chan struct{}
	begun   atomic.Int32
}

func (s *slow) stat(path string) (string, error) {
	if path != "fine" {
		s.begun.Add(1)
		<-s.revived
	}
	return path, nil
}

// Calls that hang are bounded in time and number, and a path that hangs is not tried again
// while it does.
func TestCallsThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c, ctx := &slow{revived: make(chan struct{})}, NewCallLimiter(testMost, testBound), context.Background()
		began := time.Now()
		for range 3 {
			_, err := CallBounded(ctx, c, "test", "dead", s.stat)
			require.ErrorIs(t, err, ErrHangs)
			require.ErrorContains(t, err, "dead: ")
		}
		require.Equal(t, testBound, time.Since(began), "only the first is waited for")
		require.EqualValues(t, 1, s.begun.Load())
		got, err := CallBounded(ctx, c, "test", "fine", s.stat)
		require.NoError(t, err)
		require.Equal(t, "fine", got)

		for i := range 2 * testMost {
			_, err := CallBounded(ctx, c, "test", strconv.Itoa(i), s.stat)
			require.ErrorIs(t, err, ErrHangs)
		}
		require.EqualValues(t, testMost, s.begun.Load())
		began = time.Now()
		_, err = CallBounded(ctx, c, "test", "fine", s.stat)
		require.ErrorIs(t, err, ErrHangs, "no place is left")
		require.Zero(t, time.Since(began))

		close(s.revived)
		synctest.Wait()
		for _, path := range []string{"fine", "dead"} {
			_, err = CallBounded(ctx, c, "test", path, s.stat)
			require.NoError(t, err)
		}
		require.Empty(t, c.running)
		require.Empty(t, c.slots)
	})
}

// Calls that are not late share the slots, and also a path: none is refused because of the others.
func TestCallsThatAreOnlyMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCallLimiter(testMost, testBound)
		var all sync.WaitGroup
		for range 5 * testMost {
			all.Go(func() {
				_, err := CallBounded(context.Background(), c, "test", "same", func(string) (int, error) {
					time.Sleep(testBound / 10)
					return 0, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

// A caller that no longer wants the answer stops waiting; the path does not count as hanging for that.
func TestCancelledCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := &slow{revived: make(chan struct{})}, NewCallLimiter(testMost, testBound)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(testBound/5, func() { cancel(gone) })
		_, err := CallBounded(ctx, c, "test", "dead", s.stat)
		require.ErrorIs(t, err, gone)
		_, err = CallBounded(ctx, c, "test", "dead", s.stat)
		require.ErrorIs(t, err, gone, "it is not even begun")
		require.EqualValues(t, 1, s.begun.Load())
		begun := time.Now()
		_, err = CallBounded(context.Background(), c, "test", "dead", s.stat)
		require.ErrorIs(t, err, ErrHangs)
		require.Equal(t, testBound, time.Since(begun))
		short, cancelShort := context.WithTimeout(context.Background(), testBound/5)
		defer cancelShort()
		_, err = CallBounded(short, c, "test", "other", s.stat)
		require.ErrorIs(t, err, ErrHangs, "the deadline is a bound, too")
		close(s.revived)
	})
}

// Resources are released even if the disk hangs elsewhere.
func TestCleanupWhileAnotherCallHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCallLimiter(testMost, time.Minute)
		hang, released := make(chan struct{}), false
		require.ErrorIs(t, c.Cleanup("release", ReleaseTime, func() { <-hang }), ErrHangs)
		require.NoError(t, c.Cleanup("release", ReleaseTime, func() { released = true }))
		require.True(t, released)
		close(hang)
		synctest.Wait()
	})
}

// A panic of the call reaches a caller that waits for it; a caller whose Context ends stops waiting.
func TestCallPanicsAndContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCallLimiter(testMost, time.Minute)
		require.PanicsWithValue(t, "broken", func() {
			_, _ = CallBounded(t.Context(), c, "test", "x", func(string) (int, error) { panic("broken") })
		})
		require.Empty(t, c.running)
		life, end := context.WithCancel(t.Context())
		c.Context = life
		end()
		hang := make(chan struct{})
		_, err := CallBounded(t.Context(), c, "test", "y", func(string) (int, error) { <-hang; return 0, nil })
		require.ErrorIs(t, err, context.Canceled)
		value, err := CallBoundedDetached(t.Context(), c, "test", "y", func(string) (int, error) { return 1, nil })
		require.NoError(t, err)
		require.Equal(t, 1, value)
		close(hang)
	})
}
