package subprocess

import (
	"context"
	"io"
	"time"
)

// drainTime is how long to wait for the end of output after the program has exited. A process that left its group may hold the pipe open.
const drainTime = time.Second

// Run runs a program without input until it exits, and copies its stdout to out in another goroutine; a panic of out is passed on to the
// caller. When ctx ends, the program is asked to end and killed after grace (at once if 0), and the error is the cause of ctx. Any other
// error means that nothing was started. When Run returns, the program and the rest of its group are gone.
func Run(ctx context.Context, c Command, out io.Writer, grace time.Duration) (Exit, error) {
	if ctx.Err() != nil {
		return Exit{}, context.Cause(ctx)
	}
	c.NoInput = true
	p, err := Start(c)
	if err != nil {
		return Exit{}, err
	}
	copied := make(chan any, 1) // the value that out panicked with, or nil
	go func() {
		defer func() {
			panicked := recover()
			if panicked != nil {
				_ = p.Kill() // it may have exited
			}
			copied <- panicked
		}()
		_, _ = io.Copy(out, p.Stdout) // a read error only cuts the output
	}()
	var cut error
	select {
	case <-p.AllExited():
	case <-ctx.Done():
		cut = context.Cause(ctx)
		p.end(grace)
	}
	exit := p.Exit(drainTime)
	if panicked := p.drain(copied); panicked != nil {
		panic(panicked)
	}
	return exit, cut
}

// end asks the program to end, kills it after grace, and returns when it is gone.
func (p *Process) end(grace time.Duration) {
	if grace > 0 {
		_ = p.Terminate() // it may have exited
		select {
		case <-p.allExited:
			return
		case <-time.After(grace):
		}
	}
	_ = p.Kill()
	<-p.allExited
}

// drain waits up to drainTime for the end of the output.
func (p *Process) drain(copied <-chan any) (panicked any) {
	timer := time.AfterFunc(drainTime, func() { _ = p.Stdout.Close() }) // ends io.Copy
	panicked = <-copied
	timer.Stop()
	_ = p.Stdout.Close() // read only, or closed
	return panicked
}
