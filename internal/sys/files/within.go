package files

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// ErrHangs says that a file system has not answered in time.
var ErrHangs = errors.New("its file system does not answer")

// remedy is what a user can do about ErrHangs.
const remedy = "If it is on a drive of the network, see that the drive is there, and try again"

// ReleaseTime bounds what lets go of a lock, or of the files of one call.
const ReleaseTime = 2 * time.Second

// Call names a call that may hang: a test has each of the adapter's hang, by its name.
type Call string

// Calls are calls of a file system that are under way. They are bounded in time, for who
// waits for them, and in number: a call on a dead mount cannot be ended, and keeps a
// goroutine and a thread.
type Calls struct {
	Life  context.Context // who waits by Within waits no longer than this; nil for no such bound
	Hangs func(Call)      // tests: has a call hang, before it begins; nil for none

	bound   time.Duration
	most    int
	slots   chan struct{} // has a value for each call in running
	mu      sync.Mutex
	running map[*call]struct{}
}

// call is one that has not returned.
type call struct {
	path  string
	since time.Time
	late  bool // who waited for it does so no more
}

// NewCalls are Calls of which each is waited for no longer than bound, and of which most
// run at once.
func NewCalls(most int, bound time.Duration) *Calls {
	return &Calls{bound: bound, most: most, slots: make(chan struct{}, most), running: make(map[*call]struct{})}
}

// Within calls f with path beside the caller, and returns what f returns if it does so
// within the bound of c, before ctx is done and before c's Life ends. f may hang: os.Stat,
// os.ReadDir, filepath.EvalSymlinks, exec.LookPath, a function that reads a file. What f does
// after the bound is its own affair, so it should change nothing. A panic of f is the caller's.
//
// The error is ErrHangs, with the path, when the bound or ctx's deadline is over, at once
// when an earlier call with this path has been late and has still not returned, and at once
// when as many calls as may run are late. When ctx is cancelled it is ctx's cause. Any
// other error is f's.
func Within[T any](ctx context.Context, c *Calls, call Call, path string, f func(path string) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.Life != nil {
		defer context.AfterFunc(c.Life, cancel)()
	}
	return WithinAtEnd(ctx, c, call, path, f)
}

// WithinAtEnd is Within for what is done also when c's Life is over.
func WithinAtEnd[T any](ctx context.Context, c *Calls, call Call, path string, f func(path string) (T, error)) (T, error) {
	type result struct {
		value    T
		err      error
		panicked any
	}
	since := time.Now() // before the bound begins, so that a call is late when its bound is over
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
		if c.Hangs != nil {
			c.Hangs(call)
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

// Done makes a call that has no result but its error one for Within.
func Done(f func() error) func(string) (struct{}, error) {
	return func(string) (struct{}, error) { return struct{}{}, f() }
}

// AtEnd does on the disk what is to be done when something has ended, within a bound. Each has
// a path of its own for Within, which does not begin what hangs already: f would be left
// undone because another one hangs.
func (c *Calls) AtEnd(call Call, limit time.Duration, f func()) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := WithinAtEnd(ctx, c, call, string(call)+" "+uuid.NewString(), Done(func() error { f(); return nil }))
	return err
}

// begin gives a call its place, for which it waits while others have all places and are
// not late.
func (c *Calls) begin(ctx context.Context, path string, since time.Time) (*call, error) {
	if err := c.hopeless(path, since); err != nil {
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
	this := &call{path: path, since: since}
	c.running[this] = struct{}{}
	return this, nil
}

// hopeless says why a call need not be tried.
func (c *Calls) hopeless(path string, now time.Time) error {
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
	if late >= c.most {
		return fmt.Errorf("%s: %w: %d calls with other paths have not returned. %s", path, ErrHangs, late, remedy)
	}
	return nil
}

// end is for a call that has returned, late or not.
func (c *Calls) end(this *call) {
	c.mu.Lock()
	delete(c.running, this)
	c.mu.Unlock()
	<-c.slots
}

// giveUp is the error for a call that is waited for no more; it may be nil.
func (c *Calls) giveUp(ctx context.Context, path string, this *call) error {
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
