package droid

import (
	"slices"
	"sync"
	"time"
)

// KillTime bounds how long killed droids may take to be gone. Their last output takes
// longest, since a child of droid may hold it open.
const KillTime = 3 * time.Second

// Fleet is the processes of an agent that may still run, so that they can be
// ended when those that own them cannot do it. The zero value is ready.
type Fleet struct {
	mu      sync.Mutex
	killed  bool
	started []*Client
}

// Add notes a process. It kills the process if Kill was called before.
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

// Kill ends all processes, and those that are added later. It returns when they are
// gone, or after KillTime.
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
