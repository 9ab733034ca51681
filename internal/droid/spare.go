package droid

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
)

// Spare keeps one droid process that was started before it is needed, since a
// droid takes 0.3 s (0.225) to 1 s (0.99) until it answers. The directory it
// was started in does not matter: that of initialize_session wins (field notes
// §1). It serves the first session, or ends when none comes; it is only
// started again by Renew.
type Spare struct {
	start func() (*Client, error)
	log   *zap.Logger

	mu        sync.Mutex
	discarded bool
	starting  sync.WaitGroup
	waiting   sync.WaitGroup // for a session
	client    *Client
	taken     chan struct{} // closed when client was
}

// SpareTime is how long the spare waits for a session: an editor that wants one
// opens it within seconds, and one that only asked what the agent is never does.
const SpareTime = 5 * time.Minute

// NewSpare makes a Spare that starts its process by start.
func NewSpare(start func() (*Client, error), log *zap.Logger) *Spare {
	return &Spare{start: start, log: log}
}

// Prepare starts the spare in the background. A failure is only logged: the
// session that needs droid tries again and tells the user.
func (s *Spare) Prepare() {
	s.starting.Go(s.prepare)
}

func (s *Spare) prepare() {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic while droid was started ahead", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
		}
	}()
	client, err := s.start()
	if err != nil {
		s.log.Info("no droid could be started ahead of the first session", zap.Error(err))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.discarded {
		client.Kill()
		<-client.Exited()
		return
	}
	taken := make(chan struct{})
	s.client, s.taken = client, taken
	s.waiting.Go(func() { s.expire(taken) })
}

// Renew replaces the spare by another process, if there is one that waits. It returns
// when that is started. The caller sees to it that Discard is called afterwards.
func (s *Spare) Renew() {
	if client := s.Take(); client != nil {
		client.Kill()
		<-client.Exited()
		s.prepare()
	}
}

// expire ends the spare when no session takes it.
func (s *Spare) expire(taken <-chan struct{}) {
	patience := time.NewTimer(SpareTime)
	defer patience.Stop()
	select {
	case <-taken:
	case <-patience.C:
		s.log.Info("no session was opened; the droid that was started ahead ends")
		s.end()
	}
}

// AwaitVersion returns the version of the spare's protocol, as Client.AwaitVersion does.
// It is the zero Version when there is no spare.
func (s *Spare) AwaitVersion(ctx context.Context) stream.Version {
	s.starting.Wait()
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	if client == nil {
		return stream.Version{}
	}
	return client.AwaitVersion(ctx)
}

// Take hands over the spare if there is one and it still runs, else nil.
func (s *Spare) Take() *Client {
	s.starting.Wait()
	s.mu.Lock()
	client := s.client
	if client != nil {
		s.client = nil
		close(s.taken)
	}
	s.mu.Unlock()
	if client == nil {
		return nil
	}
	select {
	case <-client.Exited():
		s.log.Warn("the droid that was started ahead has ended", zap.Error(client.ExitError()))
		return nil
	default:
		return client
	}
}

// Discard ends the spare, and returns when it is gone.
func (s *Spare) Discard() {
	s.mu.Lock()
	s.discarded = true
	s.mu.Unlock()
	s.end()
	s.waiting.Wait()
}

// end kills the spare. It has no session, so there is nothing to be polite about.
func (s *Spare) end() {
	if client := s.Take(); client != nil {
		client.Kill()
		<-client.Exited()
	}
}
