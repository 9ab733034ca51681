package droid

import (
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Spare keeps one droid process that was started before it is needed, since a
// droid takes 0.3 s (0.225) to 1 s (0.99) until it answers. It serves the first session,
// or ends when none comes or that one is elsewhere; it is only started again by Renew.
//
// A process has read the project of the directory that it was started in: its MCP
// servers run, in a session elsewhere too (0.99 to 0.225), 0.99 and 0.117 offer its
// subagents there, and a hook for the start of a session is the one that was there when
// the process began. So the spare serves a session in that directory alone, while the
// project is as it was.
type Spare struct {
	dir   string
	start func(dir string) (*Client, error)
	log   *zap.Logger

	mu        sync.Mutex
	discarded bool           // nothing is started any more
	starting  chan struct{}  // closed when the start that was begun last has ended; nil before there was one
	work      sync.WaitGroup // all that runs beside; it grows while mu is locked and discarded is not set
	client    *Client        // nil while none waits
	home      place          // where client was started, as it was then
	taken     chan struct{}  // closed when client no longer waits
}

// SpareTime is how long the spare waits for a session: an editor that wants one
// opens it within seconds, and one that only asked what the agent is never does.
const SpareTime = 5 * time.Minute

// NewSpare makes a Spare whose process is started by start, in dir.
func NewSpare(dir string, start func(dir string) (*Client, error), log *zap.Logger) *Spare {
	return &Spare{dir: dir, start: start, log: log}
}

// Prepare starts the spare in the background, unless there is one. A failure is only
// logged: the session that needs droid tries again and tells the user.
func (s *Spare) Prepare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil && !s.isStarting() {
		s.begin(nil)
	}
}

// isStarting reports whether a start is under way. The caller has locked s.
func (s *Spare) isStarting() bool { return s.starting != nil && !isClosed(s.starting) }

// begin starts a process beside the caller, who has locked s, once the one before is
// gone.
func (s *Spare) begin(before *Client) {
	if s.discarded {
		return
	}
	done := make(chan struct{})
	s.starting = done
	s.work.Go(func() {
		defer close(done)
		end(before)
		s.prepare()
	})
}

func (s *Spare) prepare() {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic while droid was started ahead", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
		}
	}()
	home := placeOf(s.dir)
	client, err := s.start(s.dir)
	if err != nil {
		s.log.Info("no droid could be started ahead of the first session", zap.Error(err))
		return
	}
	s.mu.Lock()
	discarded := s.discarded
	if !discarded {
		taken := make(chan struct{})
		s.client, s.home, s.taken = client, home, taken
		s.work.Go(func() { s.expire(client, taken) })
	}
	s.mu.Unlock()
	if discarded {
		end(client)
	}
}

// Renew replaces the spare by another process, if there is one that waits. It returns
// when that is started.
func (s *Spare) Renew() {
	s.await()
	s.mu.Lock()
	if client := s.remove(); client != nil {
		s.begin(client)
	}
	s.mu.Unlock()
	s.await()
}

// expire ends the spare when no session takes it.
func (s *Spare) expire(client *Client, taken <-chan struct{}) {
	select {
	case <-taken:
		return
	case <-time.After(SpareTime):
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
func (s *Spare) Take(dir string) *Client {
	s.await()
	asked := placeOf(dir)
	s.mu.Lock()
	client, fits := s.remove(), s.home.is(asked)
	if client != nil && !fits {
		s.work.Go(func() { end(client) })
	}
	s.mu.Unlock()
	switch {
	case client == nil:
		return nil
	case !fits:
		s.log.Info("the droid that was started ahead does not fit the first session and ends")
		return nil
	case hasExited(client):
		s.log.Warn("the droid that was started ahead has ended", zap.Error(client.ExitError()))
		return nil
	}
	return client
}

// Discard ends the spare, and returns when it is gone. Nothing is started any more, and
// what was started and not taken has ended.
func (s *Spare) Discard() {
	s.mu.Lock()
	s.discarded = true
	client := s.remove()
	s.mu.Unlock()
	end(client)
	s.work.Wait()
}

// await returns when no start is under way.
func (s *Spare) await() {
	s.mu.Lock()
	starting := s.starting
	s.mu.Unlock()
	if starting != nil {
		<-starting
	}
}

// remove takes out the process that waits, nil for none. The caller has locked s. Once
// s is discarded there is none.
func (s *Spare) remove() *Client {
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
