package subprocess

import "os"

// Detached is a program that outlives this process.
type Detached struct {
	exited chan struct{}
	exit   Exit
}

// StartDetached starts a program that outlives this process: on Unix in a new session, so without a terminal, on Windows without a console
// and outside our job if the job permits that. Its stdin is empty, its stdout and stderr go to output, which the caller closes. Only Path,
// Args, Dir and Env of the Command are used.
func StartDetached(c Command, output *os.File) (*Detached, error) {
	cmd, err := c.execCmd()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = output, output
	if err := startDetached(cmd); err != nil {
		return nil, err
	}
	d := &Detached{exited: make(chan struct{})}
	go func() { // runs as long as the program, which would be a zombie otherwise
		defer close(d.exited)
		err := cmd.Wait()
		d.exit = exitOf(cmd.ProcessState, err)
	}()
	return d, nil
}

// Exited is closed when the program has exited.
func (d *Detached) Exited() <-chan struct{} { return d.exited }

// Exit waits for the program to exit and returns how it ended.
func (d *Detached) Exit() Exit {
	<-d.exited
	return d.exit
}
