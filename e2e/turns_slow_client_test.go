//go:build e2e && linux

package e2e

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"droid-acp/internal/testing/modelserver"
)

// unlimited is the rate of a client that reads as fast as it can.
const unlimited = -1

// throttle reads the agent's stdout at a variable rate, in bytes per second.
type throttle struct {
	in io.Reader

	mu      sync.Mutex
	rate    int
	changed chan struct{} // closed and replaced when rate changes
}

func newThrottle() *throttle { return &throttle{rate: unlimited, changed: make(chan struct{})} }

func (r *throttle) reading(stdout io.Reader) io.Reader {
	r.in = stdout
	return r
}

func (r *throttle) set(rate int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rate = rate
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *throttle) Read(p []byte) (int, error) {
	const steps = 20 // a second
	for {
		r.mu.Lock()
		rate, changed := r.rate, r.changed
		r.mu.Unlock()
		switch {
		case rate == unlimited:
			return r.in.Read(p)
		case rate == 0:
			<-changed
			continue
		}
		select {
		case <-changed:
		case <-time.After(time.Second / steps):
			return r.in.Read(p[:min(len(p), max(1, rate/steps))])
		}
	}
}

// full waits until the agent writes no more into its stdout. How much fits depends on the size of the pieces.
func (r *throttle) full(t testing.TB) {
	t.Helper()
	pipe := int(r.in.(*os.File).Fd())
	last, since := 0, time.Now()
	require.Eventually(t, func() bool {
		n, err := unix.IoctlGetInt(pipe, unix.TIOCINQ)
		if err != nil || n != last {
			last, since = n, time.Now()
		}
		return n > 0 && time.Since(since) > 300*time.Millisecond
	}, turnLimit, 10*time.Millisecond, "the agent writes until nothing more fits")
}

// flood is an answer of n bytes in counted pieces, which ends only when droid closes the connection. It is sent at about 10 MB/s: a faster
// one keeps droid 0.99 so busy that it reads no interrupt before the end.
func flood(n int) modelserver.Step {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%09d%s ", i, strings.Repeat("x", 1000))
	}
	return modelserver.Step{Text: b.String(), Delay: 50 * time.Microsecond, Hang: true}
}

// A client that reads nothing any more cancels: the model's call ends while it still reads nothing, and afterwards it reads the beginning
// of the model's answer, and the one response.
func TestCancelOfAClientThatReadsNothing(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		story := flood(24 << 20)
		model.On("flood", story)
		model.On("still", modelserver.Step{Text: "Still here."})
		r := newThrottle()
		s := startAgentReading(t, h, r.reading).open(h)
		t.Cleanup(func() { r.set(unlimited) }) // otherwise a failure would wait for the agent's end forever
		turn := s.prompt("a flood")
		turn.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
		r.set(0)
		r.full(t)
		call, err := model.Await(t.Context(), func(r modelserver.Request) bool { return r.Prompt == "flood" })
		require.NoError(t, err)
		select {
		case <-call.Ended:
			t.Fatal("the model does not wait for the client")
		case <-time.After(time.Second): // by now the agent's buffers are full, too
		}
		turn.notify("session/cancel", map[string]any{"sessionId": s.id})
		select {
		case <-call.Ended:
		case <-time.After(turnLimit):
			t.Fatal("the model writes on")
		}
		r.set(unlimited)
		end := turn.end(turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, "cancelled", end.Stop)
		require.True(t, strings.HasPrefix(story.Text, end.text()), "a beginning of the story, without a gap")
		s.nextPromptWorks()
	})
}
