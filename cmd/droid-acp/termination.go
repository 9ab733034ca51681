package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// termination handles signals that end the program: the first one starts the end, the second one forces it.
type termination struct {
	ctx   context.Context // cancelled by the first signal
	begin func()          // starts the end as a first signal does
	force chan struct{}   // closed by the second signal

	mu     sync.Mutex
	kill   func() // ends what would outlive the program
	hangup func() // called for SIGHUP, which then does not end the program; nil if it does
}

// watchSignals starts to handle signals, until stop is called.
func watchSignals() (l *termination, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	l = &termination{ctx: ctx, begin: cancel, force: make(chan struct{}), kill: func() {}}
	signals, stopped, done := make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // by nohup, or a script that runs us in the background
			signal.Notify(signals, s)
		}
	}
	go func() {
		defer close(done)
		for acts := []func(){cancel, func() { close(l.force) }}; len(acts) > 0; {
			select {
			case s := <-signals:
				if s == syscall.SIGHUP && l.handleHangup() {
					continue
				}
				acts[0]()
				acts = acts[1:]
			case <-stopped:
				return
			}
		}
	}()
	return l, func() {
		signal.Stop(signals)
		close(stopped)
		<-done
		cancel()
	}
}

// onForce sets what a second signal does before the program ends.
func (l *termination) onForce(kill func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kill = kill
}

// onHangup sets what a SIGHUP does instead of ending the program.
func (l *termination) onHangup(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hangup = do
}

// handleHangup handles a SIGHUP. It returns false if that must end the program.
func (l *termination) handleHangup() bool {
	l.mu.Lock()
	do := l.hangup
	l.mu.Unlock()
	if do != nil {
		do()
	}
	return do != nil
}

// orForce runs f and returns its exit code; if a second signal arrives, it kills the droids and does not wait for f.
func (l *termination) orForce(f func() int) int {
	code := make(chan int, 1)
	go func() { code <- f() }()
	select {
	case c := <-code:
		return c
	case <-l.force:
	}
	l.mu.Lock()
	kill := l.kill
	l.mu.Unlock()
	kill()
	return exitFailed
}
