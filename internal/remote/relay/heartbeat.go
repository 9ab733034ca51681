package relay

import (
	"sync"
	"time"

	"droid-acp/internal/jsonrpc"
)

// HeartbeatMethod is the method of a notification by which both ends of a connection show that they are alive. The pipe to a program such
// as ssh does not end when the link behind it dies.
const HeartbeatMethod = "_droid-acp/alive"

const (
	// HeartbeatInterval is the time between two heartbeats.
	HeartbeatInterval = 30 * time.Second
	// HeartbeatTimeout is how long a peer that has sent a heartbeat may be silent: after that the link to it is dead.
	HeartbeatTimeout = 70 * time.Second
)

// Heartbeat is one end of such a connection. One end starts; a peer that does not answer is not watched. Make it with NewHeartbeat; the
// fields may be changed before Start and Received.
type Heartbeat struct {
	Interval, Timeout time.Duration
	In                *jsonrpc.PrefetchReader // input from the peer
	Send              func(line []byte)       // sends a line, which the callee owns then
	OnTimeout         func()                  // called once, when the link is dead

	begun, heard sync.Once
	stopped      chan struct{}
	stop         sync.Once
}

// NewHeartbeat makes an end. Call Stop when the connection ends.
func NewHeartbeat(in *jsonrpc.PrefetchReader, send func(line []byte), dead func()) *Heartbeat {
	return &Heartbeat{Interval: HeartbeatInterval, Timeout: HeartbeatTimeout, In: in, Send: send, OnTimeout: dead, stopped: make(chan struct{})}
}

// Start sends the first heartbeat, once.
func (a *Heartbeat) Start() { a.begun.Do(a.beat) }

// Received handles a heartbeat of the peer. After the first one this end sends heartbeats, too, and watches the peer.
func (a *Heartbeat) Received() {
	a.heard.Do(func() {
		a.Start()
		go a.watch()
	})
}

// Stop ends the heartbeats and the watch.
func (a *Heartbeat) Stop() { a.stop.Do(func() { close(a.stopped) }) }

func (a *Heartbeat) beat() {
	if line, err := jsonrpc.EncodeCall(nil, HeartbeatMethod, nil); err == nil {
		a.Send(line)
	}
}

func (a *Heartbeat) watch() {
	every := time.NewTicker(a.Interval)
	defer every.Stop()
	look := time.NewTicker(a.Timeout / 7)
	defer look.Stop()
	for {
		select {
		case <-every.C:
			a.beat()
		case <-look.C:
			if a.In.IdleTime() >= a.Timeout {
				a.OnTimeout()
				return
			}
		case <-a.stopped:
			return
		}
	}
}
