package droid

import (
	"slices"
	"sync"
	"time"
)

// KillTime is how long killed droids may take to end. The rest of their output takes longest, since a child of droid may hold it open.
const KillTime = 3 * time.Second

// Fleet holds an agent's running droid processes, so that they can be killed when their owners cannot do it. The zero value is ready to
// use.
type Fleet struct {
	mu      sync.Mutex
	killed  bool
	started []*Client
}

// Add adds a process. It kills the process if Kill was called before.
func (d *Fleet) Add(client *Client) {
	d.mu.Lock()
	d.started = append(slices.DeleteFunc(d.started, hasExited), client)
	killed := d.killed
	d.mu.Unlock()
	if killed {
		client.Kill()
	}
}

func hasExited(client *Client) bool { return isClosed(client.Exited()) }

// Kill kills all processes, and those added later. It returns when they have ended, or after KillTime.
func (d *Fleet) Kill() {
	d.mu.Lock()
	d.killed = true
	started := slices.Clone(d.started)
	d.mu.Unlock()
	for _, client := range started {
		client.Kill()
	}
	patience := time.After(KillTime)
	for _, client := range started {
		select {
		case <-client.Exited():
		case <-patience:
			return
		}
	}
}
