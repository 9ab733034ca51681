// Package marks watches the directory in which each process notes which sessions it has open
// (store.MarkOpen), so that those who have one open hear at once that another process opened it, too.
package marks

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Begin begins to watch a directory. noted gets the name of each file that is made in it, or whose time
// is set, one after the other, until end is called. It must not wait, as end waits for it. On a drive
// of the network only what this machine does is seen.
func Begin(dir string, noted func(name string)) (end func(), err error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", dir, err)
	}
	if err := watcher.Add(dir); err != nil {
		_ = watcher.Close() // it watches nothing
		return nil, fmt.Errorf("watching %s: %w", dir, err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for events, errs := watcher.Events, watcher.Errors; events != nil; {
			select {
			case ev, ok := <-events:
				if !ok {
					events = nil
				} else if ev.Has(fsnotify.Create | fsnotify.Write | fsnotify.Chmod) {
					noted(filepath.Base(ev.Name))
				}
			case _, ok := <-errs: // what was lost is seen with the next prompt
				if !ok {
					errs = nil
				}
			}
		}
	}()
	return func() {
		_ = watcher.Close() // nothing can be done about it
		<-over
	}, nil
}

// Watch is the one watch of a process. It begins with the first session. The zero value is ready; it is safe for
// concurrent use.
type Watch struct {
	mu    sync.Mutex
	begun bool
	ended bool
	end   func() // nil where nothing is watched
}

// Start begins to watch, if that was not tried before. begin is Begin, or nil, which watches nothing; so
// does dir "".
func (w *Watch) Start(begin func(dir string, noted func(name string)) (func(), error), dir string, noted func(name string)) error {
	w.mu.Lock()
	needless := w.begun || w.ended || begin == nil || dir == ""
	w.begun = true
	w.mu.Unlock()
	if needless {
		return nil
	}
	end, err := begin(dir, noted) // which may take its time
	if err != nil {
		return err
	}
	w.mu.Lock()
	late := w.ended
	w.end = end
	w.mu.Unlock()
	if late {
		end()
	}
	return nil
}

// End ends it, and waits for what it called.
func (w *Watch) End() {
	w.mu.Lock()
	end, before := w.end, w.ended
	w.ended = true
	w.mu.Unlock()
	if end != nil && !before {
		end()
	}
}
