package child

import "os"

// Detached is a program that lives on when this one ends.
type Detached struct {
	exited chan struct{}
	exit   Exit
}

// StartDetached starts a program that is no part of what this one ends with: on Unix in a session
// of its own, so that it has no terminal, on Windows without a console and outside of our job where
// that lets it go. Its stdin is empty, its stdout and stderr are output, which the caller closes.
// Of Command, Path, Args, Dir and Env count.
func StartDetached(c Command, output *os.File) (*Detached, error) {
	cmd, err := c.prepared()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = output, output
	if err := startDetached(cmd); err != nil {
		return nil, err
	}
	d := &Detached{exited: make(chan struct{})}
	go func() { // it stays behind while the program runs, so that this leaves no zombie
		defer close(d.exited)
		err := cmd.Wait()
		d.exit = exitOf(cmd.ProcessState, err)
	}()
	return d, nil
}

// Exited is closed when the program has ended.
func (d *Detached) Exited() <-chan struct{} { return d.exited }

// Exit waits for the end of the program and says how it ended.
func (d *Detached) Exit() Exit {
	<-d.exited
	return d.exit
}
