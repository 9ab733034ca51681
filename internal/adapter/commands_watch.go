package adapter

import (
	"context"
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"
)

// watchEvery is how often the files of commands and skills are looked at. A look at 20
// commands and 20 skills takes about 0.2 ms.
const watchEvery = 2 * time.Second

// commandWatch looks whether command files and skills come, go or change, for all
// sessions of an agent that have a droid: one goroutine, which there is only while
// there is such a session. Sessions in one directory share a look.
type commandWatch struct {
	mu        sync.Mutex
	stamp     func(cwd string) (uint64, error) // see commandsStamp; an error where the disk does not answer
	followers map[*Session]*follower
	running   bool
	wake      chan struct{} // a follower has come
	looking   sync.WaitGroup
}

// follower is a session that wants to know.
type follower struct {
	cwd     string
	changed func()

	// Only the goroutine that looks uses these.
	looked bool
	stamp  uint64
	after  int // looks until it has been told often enough
}

func newCommandWatch(stamp func(cwd string) (uint64, error)) *commandWatch {
	return &commandWatch{stamp: stamp, followers: make(map[*Session]*follower), wake: make(chan struct{}, 1)}
}

// follow calls changed, from another goroutine, when commands or skills of a session
// in cwd have changed, and again 2 and 6 s later: droid takes 0.4 to 0.8 s to see it
// (0.99 to 0.225). It ends with unfollow, or with ctx.
func (w *commandWatch) follow(ctx context.Context, log *zap.Logger, s *Session, cwd string, changed func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.followers[s]; f != nil && f.cwd == cwd {
		return
	}
	w.followers[s] = &follower{cwd: cwd, changed: changed}
	if !w.running {
		w.running = true
		w.looking.Go(func() { w.run(ctx, log) })
		return
	}
	select {
	case w.wake <- struct{}{}:
	default: // it is about to look anyway
	}
}

// unfollow forgets a session.
func (w *commandWatch) unfollow(s *Session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.followers, s)
}

// wait returns when the goroutine has ended. No session may follow any more.
func (w *commandWatch) wait() { w.looking.Wait() }

func (w *commandWatch) run(ctx context.Context, log *zap.Logger) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		followers := w.current()
		if followers == nil {
			return
		}
		w.look(followers, log)
		select {
		case <-ticker.C:
		case <-w.wake:
		case <-ctx.Done():
		}
	}
}

// current are the followers, nil if there is none: then the goroutine has to end.
func (w *commandWatch) current() map[*Session]*follower {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.followers) == 0 {
		w.running = false
		return nil
	}
	return maps.Clone(w.followers)
}

// look looks once at the files of all followers. A panic costs this look.
func (w *commandWatch) look(followers map[*Session]*follower, log *zap.Logger) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic while looking at commands", zap.Any("panic", p), zap.Stack("stack"))
		}
	}()
	byDir := make(map[string][]*follower)
	for _, f := range followers {
		byDir[f.cwd] = append(byDir[f.cwd], f)
	}
	for cwd, same := range byDir {
		stamp, err := w.stamp(cwd)
		for _, f := range same {
			if err == nil && f.isDue(stamp) {
				f.changed()
			}
		}
	}
}

// isDue takes what a look has shown. It reports whether the follower is to be told.
func (f *follower) isDue(stamp uint64) bool {
	switch {
	case !f.looked:
		f.looked, f.stamp = true, stamp
		return false
	case f.stamp != stamp:
		f.stamp, f.after = stamp, 3
		return true
	case f.after == 0:
		return false
	}
	f.after--
	return f.after != 1 // 2 and 6 s after the change
}
