package relay

import (
	"sync"
	"time"

	"droid-acp/internal/jsonrpc"
)

// HeartbeatMethod is the method of a notification by which both ends of a connection say that they are there. The pipe to a
// program such as ssh does not say when the link behind it has died.
const HeartbeatMethod = "_droid-acp/alive"

const (
	// HeartbeatInterval is how often an end says so.
	HeartbeatInterval = 30 * time.Second
	// HeartbeatTimeout is how long nothing may come from a peer that has said so before: then the link to it is dead.
	HeartbeatTimeout = 70 * time.Second
)

// Heartbeat is one end of such a connection. One of the ends begins; a peer that does not answer is not watched. Make it with
// NewHeartbeat; the fields may be changed before Start and Received.
type Heartbeat struct {
	Interval, Timeout time.Duration
	In                *jsonrpc.PrefetchReader // what the peer says
	Send              func(line []byte)       // sends it a line, which is the callee's then
	OnTimeout         func()                  // is called once, when the link is dead

	begun, heard sync.Once
	stopped      chan struct{}
	stop         sync.Once
}

// NewHeartbeat makes an end. Call Stop when the connection ends.
func NewHeartbeat(in *jsonrpc.PrefetchReader, send func(line []byte), dead func()) *Heartbeat {
	return &Heartbeat{Interval: HeartbeatInterval, Timeout: HeartbeatTimeout, In: in, Send: send, OnTimeout: dead, stopped: make(chan struct{})}
}

// Start says the first time that this end is there.
func (a *Heartbeat) Start() { a.begun.Do(a.beat) }

// Received notes that the peer has said so. From the first time on this end says it, too, and watches the peer.
func (a *Heartbeat) Received() {
	a.heard.Do(func() {
		a.Start()
		go a.watch()
	})
}

// Stop has nothing more said or watched.
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
