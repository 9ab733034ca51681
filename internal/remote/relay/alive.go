package relay

import (
	"sync"
	"time"

	"droid-acp/internal/jsonrpc"
)

// AliveMethod is the method of a notification by which both ends of a connection say that they are there. The pipe to a
// program such as ssh does not say when the link behind it has died.
const AliveMethod = "_droid-acp/alive"

const (
	// AliveEvery is how often an end says so.
	AliveEvery = 30 * time.Second
	// SilentAfter is how long nothing may come from a peer that has said so before: then the link to it is dead.
	SilentAfter = 70 * time.Second
)

// Alive is one end of such a connection. One of the ends begins; a peer that does not answer is not watched. Make it with
// NewAlive; the fields may be changed before Begin and Heard.
type Alive struct {
	Every, Silent time.Duration
	In            *jsonrpc.PrefetchReader // what the peer says
	Send          func(line []byte)       // sends it a line, which is the callee's then
	Dead          func()                  // is called once, when the link is dead

	begun, heard sync.Once
	stopped      chan struct{}
	stop         sync.Once
}

// NewAlive makes an end. Call Stop when the connection ends.
func NewAlive(in *jsonrpc.PrefetchReader, send func(line []byte), dead func()) *Alive {
	return &Alive{Every: AliveEvery, Silent: SilentAfter, In: in, Send: send, Dead: dead, stopped: make(chan struct{})}
}

// Begin says the first time that this end is there.
func (a *Alive) Begin() { a.begun.Do(a.say) }

// Heard notes that the peer has said so. From the first time on this end says it, too, and watches the peer.
func (a *Alive) Heard() {
	a.heard.Do(func() {
		a.Begin()
		go a.watch()
	})
}

// Stop has nothing more said or watched.
func (a *Alive) Stop() { a.stop.Do(func() { close(a.stopped) }) }

func (a *Alive) say() {
	if line, err := jsonrpc.EncodeCall(nil, AliveMethod, nil); err == nil {
		a.Send(line)
	}
}

func (a *Alive) watch() {
	every := time.NewTicker(a.Every)
	defer every.Stop()
	look := time.NewTicker(a.Silent / 7)
	defer look.Stop()
	for {
		select {
		case <-every.C:
			a.say()
		case <-look.C:
			if a.In.IdleTime() >= a.Silent {
				a.Dead()
				return
			}
		case <-a.stopped:
			return
		}
	}
}
