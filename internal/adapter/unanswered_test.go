package adapter

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestUnansweredIsWaitedFor: until the last response, or the limit.
func TestUnansweredIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnanswered()
		begin := time.Now()
		require.True(t, u.wait(time.Second), "nothing to wait for")
		require.Zero(t, time.Since(begin))

		u.add()
		u.add()
		require.False(t, u.wait(time.Second))
		require.Equal(t, time.Second, time.Since(begin))

		all := make(chan bool, 1)
		go func() { all <- u.wait(time.Minute) }()
		u.done()
		synctest.Wait()
		require.Empty(t, all, "one is missing")
		u.done()
		synctest.Wait()
		require.Len(t, all, 1)
		require.True(t, <-all)
	})
}

// TestUnansweredAgain: a token left from before is no answer to what came since.
func TestUnansweredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnanswered()
		u.add()
		u.done()
		u.add()
		require.False(t, u.wait(time.Second))
	})
}
