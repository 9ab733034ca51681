package adapter

import (
	"slices"
	"sync"
	"time"

	"droid-acp/internal/droid"
)

// killTime bounds how long killed droids may take to be gone: that of their last
// output, which a child of droid may hold open.
const killTime = 3 * time.Second

// droids are the processes of an agent that may still run, so that they can be
// ended when those that own them cannot do it.
type droids struct {
	mu      sync.Mutex
	killed  bool
	started []*droid.Client
}

// add notes a process. It is killed when all were.
func (d *droids) add(client *droid.Client) {
	d.mu.Lock()
	d.started = append(slices.DeleteFunc(d.started, hasExited), client)
	killed := d.killed
	d.mu.Unlock()
	if killed {
		client.Kill()
	}
}

func hasExited(client *droid.Client) bool {
	select {
	case <-client.Exited():
		return true
	default:
		return false
	}
}

// kill ends all, also those that are added later. It returns when they are gone,
// or after killTime.
func (d *droids) kill() {
	d.mu.Lock()
	d.killed = true
	started := slices.Clone(d.started)
	d.mu.Unlock()
	for _, client := range started {
		client.Kill()
	}
	patience := time.NewTimer(killTime)
	defer patience.Stop()
	for _, client := range started {
		select {
		case <-client.Exited():
		case <-patience.C:
			return
		}
	}
}
