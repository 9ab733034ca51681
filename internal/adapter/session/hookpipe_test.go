//go:build linux

package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter"
	"droid-acp/internal/droid/hooks"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
)

// bubbleClock tells when files changed by the clock of a synctest bubble: when it was
// asked about this change first.
type bubbleClock struct {
	mu     sync.Mutex
	seen   map[[3]int64]time.Time
	broken bool // it panics from now on
	panics int  // how often it has
}

func (c *bubbleClock) changed(info fs.FileInfo) time.Time {
	stat := info.Sys().(*syscall.Stat_t)
	key := [3]int64{int64(stat.Ino), time.Unix(stat.Ctim.Unix()).UnixNano(), info.Size()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		c.panics++
		panic("no clock")
	}
	if at, ok := c.seen[key]; ok {
		return at
	}
	c.seen[key] = time.Now()
	return c.seen[key]
}

func (c *bubbleClock) breaks(now bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = now
}

// hookPipe is a hooks.Listener without a socket.
type hookPipe struct {
	handle hooks.Handler
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	fails  bool // it cannot be opened

	mu       sync.Mutex
	opened   int
	asked    []hooks.Request
	answered func(hooks.Answer)
}

func (p *hookPipe) listen(h hooks.Handler, _ *zap.Logger) (adapter.HookChannel, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened++
	if p.fails {
		return nil, fmt.Errorf("no sockets here")
	}
	p.handle = h
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

func (p *hookPipe) Command() string { return "/opt/droid-acp " + stream.OwnHook + " pipe" }

func (p *hookPipe) Close() {
	p.cancel()
	p.work.Wait()
}

// request sends the request of one hook. As with the real program, its end does not stop the work for it.
func (p *hookPipe) request(ctx context.Context, q hooks.Request) hooks.Answer {
	p.mu.Lock()
	p.asked = append(p.asked, q)
	p.mu.Unlock()
	answer := make(chan hooks.Answer, 1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.ctx, cancel)
	defer cancel() // not when the answer is there: the select below could pass it over
	p.work.Go(func() {
		defer stop()
		answer <- p.handle(ctx, q)
	})
	select {
	case a := <-answer:
		p.mu.Lock()
		answered := p.answered
		p.mu.Unlock()
		if answered != nil {
			answered(a)
		}
		return a
	case <-ctx.Done():
		return hooks.Answer{}
	}
}

// requests are those that came, as "PreToolUse Read".
func (p *hookPipe) requests() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.asked {
		all = append(all, q.Event+" "+q.Tool)
	}
	return all
}

// run is the hook program, between a droid's stdin and stdout.
func (p *hookPipe) run(ctx context.Context, stdin []byte) []byte {
	var in struct {
		Event   string          `json:"hook_event_name"`
		Session string          `json:"session_id"`
		Tool    string          `json:"tool_name"`
		Input   json.RawMessage `json:"tool_input"`
	}
	if err := json.Unmarshal(stdin, &in); err != nil {
		return nil
	}
	a := p.request(ctx, hooks.Request{Event: in.Event, SessionID: in.Session, Tool: in.Tool, Input: in.Input})
	if a.Context == "" && len(a.UpdatedInput) == 0 {
		return nil
	}
	out := fakedroid.Fields{"hookEventName": in.Event}
	if a.Context != "" {
		out["additionalContext"] = a.Context
	}
	if len(a.UpdatedInput) > 0 {
		out["updatedInput"] = a.UpdatedInput
	}
	data, _ := json.Marshal(fakedroid.Fields{"hookSpecificOutput": out})
	return data
}
