package files

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrHangs says that a file system has not answered in time.
var ErrHangs = errors.New("its file system does not answer")

// Calls are calls of a file system that are under way. They are bounded in time, for who
// waits for them, and in number: a call on a dead mount cannot be ended, and keeps a
// goroutine and a thread.
type Calls struct {
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
// within the bound of c and before ctx is done. f may hang: os.Stat, os.ReadDir,
// filepath.EvalSymlinks, exec.LookPath, a function that reads a file. What f does after the
// bound is its own affair, so it should change nothing.
//
// The error is ErrHangs, with the path, when the bound or ctx's deadline is over, at once
// when an earlier call with this path has been late and has still not returned, and at once
// when as many calls as may run are late. When ctx is cancelled it is ctx's cause. Any
// other error is f's.
func Within[T any](ctx context.Context, c *Calls, path string, f func(path string) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
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
		value, err := f(path)
		c.end(this)
		returned <- result{value, err}
	}()
	select {
	case r := <-returned:
		return r.value, r.err
	case <-ctx.Done():
		return none, c.giveUp(ctx, path, this)
	}
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
			return fmt.Errorf("%s: %w: an earlier call has not returned", path, ErrHangs)
		}
	}
	if late >= c.most {
		return fmt.Errorf("%s: %w: %d calls with other paths have not returned", path, ErrHangs, late)
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
	return fmt.Errorf("%s: %w", path, ErrHangs)
}
