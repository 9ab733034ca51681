package droid

import (
	"runtime/debug"
	"sync"
	"time"

	"droid-acp/internal/sys/subprocess"

	"go.uber.org/zap"
)

// Prewarmed keeps one droid process that was started in advance, since a droid takes 0.3 s (0.225) to 1 s (0.99) until it answers. It
// serves the next session, or is ended if none is opened or that one is in another directory; only Next and Renew start another one.
//
// A process has read the project of the directory that it was started in: its MCP servers run, also in a session elsewhere (0.99 to 0.225),
// 0.99 offers its subagents there, and a session-start hook is the one that existed when the process started. So a prewarmed process serves
// only a session in that directory, and only while the project is unchanged.
type Prewarmed struct {
	start     func(dir string) (*Client, error)
	wantsNext func() bool
	log       *zap.Logger
	stopped   chan struct{} // closed when discarded is set

	mu        sync.Mutex
	dir       string         // where the next one is started
	discarded bool           // no more starts
	starting  chan struct{}  // closed when the latest start has ended; nil before the first
	work      sync.WaitGroup // all background work; it grows only while mu is locked and discarded is false
	client    *Client        // nil if none waits
	startedIn DirState       // the state of the directory when client was started
	taken     chan struct{}  // closed when client no longer waits
}

// PrewarmTime is how long a prewarmed process waits for a session: an editor that wants one opens it within seconds, and one that only
// asked for the agent's properties never does.
const PrewarmTime = 5 * time.Minute

// nextAfter is how long after a session was opened a droid is started for the next one. A client that opens one session for one prompt has
// ended by then, and causes no needless start.
const nextAfter = 3 * time.Second

// NewPrewarmed makes a Prewarmed whose processes are started by start, first in dir. again reports whether to start another one after a
// session was opened; nil means never.
func NewPrewarmed(dir string, start func(dir string) (*Client, error), again func() bool, log *zap.Logger) *Prewarmed {
	return &Prewarmed{dir: dir, start: start, wantsNext: again, log: log, stopped: make(chan struct{})}
}

// Prepare starts a process in the background, unless there is one. A failure is only logged: the session that needs droid tries again and
// reports it to the user.
func (s *Prewarmed) Prepare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil && !s.isStarting() {
		s.begin(nil)
	}
}

// Next records that a session was opened in dir, where the next one is most likely, and starts a process for it a little later, unless
// there is one.
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

// isStarting reports whether a start is in progress. The caller has locked s.
func (s *Prewarmed) isStarting() bool { return s.starting != nil && !isClosed(s.starting) }

// begin starts a process in the background, once before has ended. The caller has locked s.
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
	home := ReadDirState(dir)
	client, err := s.start(dir)
	if err != nil {
		s.log.Info("cannot start a droid in advance", zap.Error(err))
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

// Renew replaces the waiting process, if there is one, by another, and returns when that is started.
func (s *Prewarmed) Renew() {
	s.await()
	s.mu.Lock()
	if client := s.remove(); client != nil {
		s.begin(client)
	}
	s.mu.Unlock()
	s.await()
}

// expire ends the process if no session takes it.
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
		s.log.Info("no session was opened; ending the prewarmed droid")
		end(client)
	}
}

// Take returns the process for a session in dir. It returns nil if none is running, or if the project has changed since its start: then the
// process is ended.
func (s *Prewarmed) Take(dir string) *Client {
	s.await()
	asked := ReadDirState(dir)
	s.mu.Lock()
	client, fits := s.remove(), s.startedIn.Same(asked)
	if client != nil && !fits {
		s.work.Go(func() { end(client) })
	}
	s.mu.Unlock()
	switch {
	case client == nil:
		return nil
	case !fits:
		s.log.Info("the prewarmed droid does not fit the next session; ending it")
		return nil
	case hasExited(client):
		s.log.Warn("the prewarmed droid has exited", zap.Error(client.ExitError()))
		return nil
	}
	return client
}

// Discard ends the process, and returns when it has ended, as have all that were started and not taken. No more are started.
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

// startTime is how long to wait for a start, which takes milliseconds: in a directory that hangs it never ends, and a session elsewhere
// must not wait for that.
const startTime = 2 * time.Second

// await returns when no start is in progress, or after startTime.
func (s *Prewarmed) await() {
	s.mu.Lock()
	starting := s.starting
	s.mu.Unlock()
	if starting != nil {
		subprocess.WaitTimeout(starting, startTime)
	}
}

// remove removes and returns the waiting process, nil if there is none, as after Discard. The caller has locked s.
func (s *Prewarmed) remove() *Client {
	client := s.client
	if client != nil {
		s.client = nil
		close(s.taken)
	}
	return client
}

// end kills a prewarmed process, if there is one, and returns when it has ended. It has no session, so nothing is lost.
func end(client *Client) {
	if client != nil {
		client.Kill()
		<-client.Exited()
	}
}
