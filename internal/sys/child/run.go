package child

import (
	"context"
	"io"
	"time"
)

// drainTime is how long the output of a program that is gone is read. A process that
// left its group may hold it open.
const drainTime = time.Second

// Run runs a program without input to its end, and copies its stdout to out, in another
// goroutine; a panic of out is passed on to the caller. When ctx ends the program is asked
// to end, and killed after the time grace, 0 for at once; the error is the cause then.
// Another error says that nothing was started. When Run returns, the program and what it
// left in its group are gone.
func Run(ctx context.Context, c Command, out io.Writer, grace time.Duration) (Exit, error) {
	if ctx.Err() != nil {
		return Exit{}, context.Cause(ctx)
	}
	c.NoInput = true
	p, err := Start(c)
	if err != nil {
		return Exit{}, err
	}
	copied := make(chan any, 1) // what out panicked with, nil for nothing
	go func() {
		defer func() {
			panicked := recover()
			if panicked != nil {
				_ = p.Kill() // it may have ended
			}
			copied <- panicked
		}()
		_, _ = io.Copy(out, p.Stdout) // what could not be read is not shown
	}()
	var cut error
	select {
	case <-p.Gone():
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

// end ends the program, politely where there is time, and returns when it is gone.
func (p *Process) end(grace time.Duration) {
	if grace > 0 {
		_ = p.Terminate() // it may have ended
		select {
		case <-p.gone:
			return
		case <-time.After(grace):
		}
	}
	_ = p.Kill()
	<-p.gone
}

// drain waits for the end of the output, but not long.
func (p *Process) drain(copied <-chan any) (panicked any) {
	timer := time.AfterFunc(drainTime, func() { _ = p.Stdout.Close() }) // ends the copying
	panicked = <-copied
	timer.Stop()
	_ = p.Stdout.Close() // read only, or closed
	return panicked
}
