package files

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// ErrHangs means that a file system has not answered in time.
var ErrHangs = errors.New("its file system does not answer")

// remedy is the advice to users for ErrHangs.
const remedy = "If it is on a drive of the network, see that the drive is there, and try again"

// ReleaseTime bounds the release of a lock or of the files of one call.
const ReleaseTime = 2 * time.Second

// CallName names a call that may hang; tests make a call hang by its name.
type CallName string

// CallLimiter bounds file system calls in time, for their callers, and in number: a call on a dead mount cannot be ended and occupies a
// goroutine and a thread.
type CallLimiter struct {
	Context    context.Context // Within stops waiting when it is done; may be nil
	BeforeCall func(CallName)  // for tests: called before each call, may hang; may be nil

	bound   time.Duration
	max     int
	slots   chan struct{} // one value per call in running
	mu      sync.Mutex
	running map[*runningCall]struct{}
}

// runningCall is a call that has not returned.
type runningCall struct {
	path  string
	since time.Time
	late  bool // its caller has given up
}

// NewCallLimiter returns a CallLimiter that runs at most most calls at once and waits for each at most bound.
func NewCallLimiter(most int, bound time.Duration) *CallLimiter {
	return &CallLimiter{bound: bound, max: most, slots: make(chan struct{}, most), running: make(map[*runningCall]struct{})}
}

// CallBounded calls f(path) in another goroutine and returns its result, unless c's bound passes, ctx is done or c.Context ends first. f
// may hang: os.Stat, os.ReadDir, filepath.EvalSymlinks, exec.LookPath, a function that reads a file. It goes on after the bound, so it
// should change nothing. A panic of f is passed on to the caller.
//
// The error is ErrHangs, with the path, when the bound or ctx's deadline has passed; it is returned at once if an earlier call with the
// same path is overdue, or if as many calls as may run are. If ctx is cancelled, the error is its cause. Any other error is f's.
func CallBounded[T any](ctx context.Context, c *CallLimiter, call CallName, path string, f func(path string) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.Context != nil {
		defer context.AfterFunc(c.Context, cancel)()
	}
	return CallBoundedDetached(ctx, c, call, path, f)
}

// CallBoundedDetached is CallBounded, but ignores c.Context.
func CallBoundedDetached[T any](ctx context.Context, c *CallLimiter, call CallName, path string, f func(path string) (T, error)) (T, error) {
	type result struct {
		value    T
		err      error
		panicked any
	}
	since := time.Now() // taken first, so that a call is late when its bound is over
	ctx, cancel := context.WithTimeout(ctx, c.bound)
	defer cancel()
	var none T
	this, err := c.begin(ctx, path, since)
	if err != nil {
		return none, err
	}
	returned := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			r.panicked = recover()
			c.end(this)
			returned <- r
		}()
		if c.BeforeCall != nil {
			c.BeforeCall(call)
		}
		r.value, r.err = f(path)
	}()
	select {
	case r := <-returned:
		if r.panicked != nil {
			panic(r.panicked)
		}
		return r.value, r.err
	case <-ctx.Done():
		return none, c.giveUp(ctx, path, this)
	}
}

// NoResult adapts a function that returns only an error to CallBounded.
func NoResult(f func() error) func(string) (struct{}, error) {
	return func(string) (struct{}, error) { return struct{}{}, f() }
}

// Cleanup runs f, which cleans up on the disk, within limit and even after c.Context has ended. Its path is unique, since CallBounded
// rejects a path with an overdue call, and f must be tried in any case.
func (c *CallLimiter) Cleanup(call CallName, limit time.Duration, f func()) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := CallBoundedDetached(ctx, c, call, string(call)+" "+uuid.NewString(), NoResult(func() error { f(); return nil }))
	return err
}

// begin registers a call. It waits for a free slot while fewer calls than may run are overdue.
func (c *CallLimiter) begin(ctx context.Context, path string, since time.Time) (*runningCall, error) {
	if err := c.reject(path, since); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, c.giveUp(ctx, path, nil)
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, c.giveUp(ctx, path, nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	this := &runningCall{path: path, since: since}
	c.running[this] = struct{}{}
	return this, nil
}

// reject returns an error if a call need not be tried.
func (c *CallLimiter) reject(path string, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := 0
	for r := range c.running {
		if !r.late && now.Sub(r.since) < c.bound {
			continue
		}
		if late++; r.path == path {
			return fmt.Errorf("%s: %w: an earlier call has not returned. %s", path, ErrHangs, remedy)
		}
	}
	if late >= c.max {
		return fmt.Errorf("%s: %w: %d calls with other paths have not returned. %s", path, ErrHangs, late, remedy)
	}
	return nil
}

// end removes a call that has returned, late or not.
func (c *CallLimiter) end(this *runningCall) {
	c.mu.Lock()
	delete(c.running, this)
	c.mu.Unlock()
	<-c.slots
}

// giveUp returns the error for a call whose caller stops waiting. this may be nil.
func (c *CallLimiter) giveUp(ctx context.Context, path string, this *runningCall) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	if this != nil {
		c.mu.Lock()
		this.late = true
		c.mu.Unlock()
	}
	return fmt.Errorf("%s: %w. %s", path, ErrHangs, remedy)
}
