package serve

import (
	"io"
	"os"
	"sync"

	"droid-acp/internal/remote/relay"
	"droid-acp/internal/sys/subprocess"
)

// agentProcess is a running agent.
type agentProcess interface {
	Pipes() (stdin io.WriteCloser, stdout io.ReadCloser)
	ID() int
	Exited() <-chan struct{}
	Kill() error
	// Await waits until it and what it started have ended, and returns how it ended.
	Await() (how string)
}

type childProcess struct{ *subprocess.Process }

func (p childProcess) Pipes() (io.WriteCloser, io.ReadCloser) { return p.Stdin, p.Stdout }

func (p childProcess) Await() string {
	<-p.AllExited()
	exit := p.Exit(relay.DrainTime)
	text := exit.Text
	if n := len(exit.Stderr); n > 0 && exit.Signal == "" {
		text += ": " + exit.Stderr[n-1]
	}
	return text
}

// inProcess is an agent that runs in this process.
type inProcess struct {
	in     *io.PipeWriter
	out    *io.PipeReader
	exited chan struct{}
	end    func() error // asks it to end
	how    error        // the error it ended with; nil if it was ended
}

func (i *inProcess) Pipes() (io.WriteCloser, io.ReadCloser) { return i.in, i.out }
func (i *inProcess) ID() int                                { return os.Getpid() }
func (i *inProcess) Exited() <-chan struct{}                { return i.exited }
func (i *inProcess) Kill() error                            { return i.end() }

func (i *inProcess) Await() string {
	<-i.exited
	if i.how != nil {
		return i.how.Error()
	}
	return "it was ended"
}

// newQueryAgent starts an agent that answers a client without an open session.
func (o Options) newQueryAgent(h AttachParams, stderr io.Writer) (agentProcess, error) {
	if o.ServeQueries == nil {
		return o.start(h, stderr)
	}
	return startInProcess(h, o.ServeQueries), nil
}

// startInProcess starts an agent in this process.
func startInProcess(h AttachParams, serve func(h AttachParams, in io.Reader, out io.Writer) error) agentProcess {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	i := &inProcess{in: stdin, out: stdout, exited: make(chan struct{}), end: sync.OnceValue(in.Close)}
	go func() {
		defer close(i.exited)
		i.how = serve(h, in, out)
		_ = out.Close() // closing a pipe never fails
		_ = i.end()
	}()
	return i
}

func (o Options) startProcess(h AttachParams, stderr io.Writer) (agentProcess, error) {
	p, err := subprocess.Start(subprocess.Command{Path: h.Program, Args: h.Args, Dir: h.Directory, Env: h.Env, Stderr: io.MultiWriter(o.Stderr, stderr)})
	if err != nil {
		return nil, err
	}
	return childProcess{p}, nil
}
