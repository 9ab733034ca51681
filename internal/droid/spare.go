package droid

import (
	"runtime/debug"
	"sync"
	"time"

	"droid-acp/internal/sys/subprocess"

	"go.uber.org/zap"
)

// Prewarmed keeps one droid process that was started before it is needed, since a
// droid takes 0.3 s (0.225) to 1 s (0.99) until it answers. It serves the next session,
// or ends when none comes or that one is elsewhere; it is only started again by Next and Renew.
//
// A process has read the project of the directory that it was started in: its MCP
// servers run, in a session elsewhere too (0.99 to 0.225), 0.99 offers its
// subagents there, and a hook for the start of a session is the one that was there when
// the process began. So the spare serves a session in that directory alone, while the
// project is as it was.
type Prewarmed struct {
	start     func(dir string) (*Client, error)
	wantsNext func() bool
	log       *zap.Logger
	stopped   chan struct{} // closed when discarded is set

	mu        sync.Mutex
	dir       string         // where the next one is started
	discarded bool           // nothing is started any more
	starting  chan struct{}  // closed when the start that was begun last has ended; nil before there was one
	work      sync.WaitGroup // all that runs beside; it grows while mu is locked and discarded is not set
	client    *Client        // nil while none waits
	startedIn dirState       // where client was started, as it was then
	taken     chan struct{}  // closed when client no longer waits
}

// PrewarmTime is how long the spare waits for a session: an editor that wants one
// opens it within seconds, and one that only asked what the agent is never does.
const PrewarmTime = 5 * time.Minute

// nextAfter is how long after a session was opened a droid is started for the next one. What
// opens one session for one prompt is over by then, and starts none in vain.
const nextAfter = 3 * time.Second

// NewPrewarmed makes a Prewarmed whose process is started by start, first in dir. again says whether a
// session that was opened has another one started for the next, nil for never.
func NewPrewarmed(dir string, start func(dir string) (*Client, error), again func() bool, log *zap.Logger) *Prewarmed {
	return &Prewarmed{dir: dir, start: start, wantsNext: again, log: log, stopped: make(chan struct{})}
}

// Prepare starts the spare in the background, unless there is one. A failure is only
// logged: the session that needs droid tries again and tells the user.
func (s *Prewarmed) Prepare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil && !s.isStarting() {
		s.begin(nil)
	}
}

// Next notes that a session was opened in dir, where the next one is the likeliest to be, and
// starts a spare for it a little later, unless there is one.
func (s *Prewarmed) Next(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wantsNext == nil || s.discarded {
		return
	}
	s.work.Go(func() {
		select {
		case <-s.stopped:
			return
		case <-time.After(nextAfter):
		}
		if !s.wantsNext() {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.client == nil && !s.isStarting() {
			s.dir = dir
			s.begin(nil)
		}
	})
}

// isStarting reports whether a start is under way. The caller has locked s.
func (s *Prewarmed) isStarting() bool { return s.starting != nil && !isClosed(s.starting) }

// begin starts a process beside the caller, who has locked s, once the one before is
// gone.
func (s *Prewarmed) begin(before *Client) {
	if s.discarded {
		return
	}
	done, dir := make(chan struct{}), s.dir
	s.starting = done
	s.work.Go(func() {
		defer close(done)
		end(before)
		s.prepare(dir)
	})
}

func (s *Prewarmed) prepare(dir string) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic while droid was started ahead", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
		}
	}()
	home := readDirState(dir)
	client, err := s.start(dir)
	if err != nil {
		s.log.Info("no droid could be started ahead of the next session", zap.Error(err))
		return
	}
	s.mu.Lock()
	discarded := s.discarded
	if !discarded {
		taken := make(chan struct{})
		s.client, s.startedIn, s.taken = client, home, taken
		s.work.Go(func() { s.expire(client, taken) })
	}
	s.mu.Unlock()
	if discarded {
		end(client)
	}
}

// Renew replaces the spare by another process, if there is one that waits. It returns
// when that is started.
func (s *Prewarmed) Renew() {
	s.await()
	s.mu.Lock()
	if client := s.remove(); client != nil {
		s.begin(client)
	}
	s.mu.Unlock()
	s.await()
}

// expire ends the spare when no session takes it.
func (s *Prewarmed) expire(client *Client, taken <-chan struct{}) {
	select {
	case <-taken:
		return
	case <-time.After(PrewarmTime):
	}
	s.mu.Lock()
	waits := s.client == client
	if waits {
		s.remove()
	}
	s.mu.Unlock()
	if waits {
		s.log.Info("no session was opened; the droid that was started ahead ends")
		end(client)
	}
}

// Take hands over the spare for a session in dir. It is nil if there is none that still
// runs, or if it has read something else than what is there now: then it ends.
func (s *Prewarmed) Take(dir string) *Client {
	s.await()
	asked := readDirState(dir)
	s.mu.Lock()
	client, fits := s.remove(), s.startedIn.same(asked)
	if client != nil && !fits {
		s.work.Go(func() { end(client) })
	}
	s.mu.Unlock()
	switch {
	case client == nil:
		return nil
	case !fits:
		s.log.Info("the droid that was started ahead does not fit the next session and ends")
		return nil
	case hasExited(client):
		s.log.Warn("the droid that was started ahead has ended", zap.Error(client.ExitError()))
		return nil
	}
	return client
}

// Discard ends the spare, and returns when it is gone. Nothing is started any more, and
// what was started and not taken has ended.
func (s *Prewarmed) Discard() {
	s.mu.Lock()
	if !s.discarded {
		s.discarded = true
		close(s.stopped)
	}
	client := s.remove()
	s.mu.Unlock()
	end(client)
	s.work.Wait()
}

// startTime is how long a start is waited for, which takes milliseconds: in a directory that
// hangs when it is read it does not end, and a session elsewhere does not wait for that.
const startTime = 2 * time.Second

// await returns when no start is under way, or after startTime.
func (s *Prewarmed) await() {
	s.mu.Lock()
	starting := s.starting
	s.mu.Unlock()
	if starting != nil {
		subprocess.WaitTimeout(starting, startTime)
	}
}

// remove takes out the process that waits, nil for none. The caller has locked s. Once
// s is discarded there is none.
func (s *Prewarmed) remove() *Client {
	client := s.client
	if client != nil {
		s.client = nil
		close(s.taken)
	}
	return client
}

// end kills a spare, if there is one, and returns when it is gone. It has no session, so
// there is nothing to be polite about.
func end(client *Client) {
	if client != nil {
		client.Kill()
		<-client.Exited()
	}
}
