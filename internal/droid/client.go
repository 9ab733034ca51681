package droid

import (
	"cmp"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/stream"
)

// eventBuffer is how many events may wait to be read before droid has to wait.
const eventBuffer = 64

// timeouts are the limits of waiting; tests shorten them.
type timeouts struct {
	interrupt time.Duration // Close: for the running turn to end
	eof       time.Duration // Close: after stdin was closed; 0.215 needs about 6 s
	term      time.Duration // Close: after SIGTERM
	drain     time.Duration // for the rest of the output of a process that is gone
	broken    time.Duration // for a process to end that closed stdin or stdout
	stall     time.Duration // while closing: for the reader of Events, before events are dropped
	late      time.Duration // after initialize_session at most: for droid to read its settings file again
	look      time.Duration // after its version: for droid to have looked for MCP servers at its start
	line      int           // the longest line that is read, in bytes
}

var defaultBounds = timeouts{
	interrupt: time.Second,
	eof:       6 * time.Second,
	term:      2 * time.Second,
	drain:     time.Second,
	broken:    2 * time.Second,
	stall:     250 * time.Millisecond,
	late:      10 * time.Second,
	look:      15 * time.Second,
	line:      stream.MaxLine,
}

// Client talks to one droid. Its methods may be called from any goroutine, but
// not from the one that reads Events: a response may stand behind events that
// nobody has read yet.
type Client struct {
	log            *zap.Logger
	bounds         timeouts
	proc           *process             // nil for a client without a process
	started        *projectconfig.Layer // see StartedExcluding
	env            []string             // of the process
	own            map[string]string    // see process.own
	settings       *settingsFile        // nil without one
	outside        func() bool          // whether droid has children; nil for none
	findBackground func(id int) (BackgroundCommand, error)
	stdout         io.Reader
	events         chan stream.Event
	wake           atomic.Pointer[chan<- struct{}] // see Notify
	out            *writer

	callGate       chan struct{} // holds a token while a call keeps others waiting, see Call
	serversSeen    chan struct{} // closed when droid has told of MCP servers; the goroutine that reads closes it
	closing        chan struct{} // closed when Close or Kill begins
	sessionClosing atomic.Bool   // the session is being closed: what hooks say then is not told
	readDone       chan struct{} // closed when stdout has ended
	dead           chan struct{} // closed when no response can come any more
	exited         chan struct{} // closed when all goroutines of the client have ended

	hooked        atomic.Bool                         // see HasHooks
	noLogin       atomic.Bool                         // see LacksLogin
	given         atomic.Pointer[projectconfig.Layer] // see Given
	projectModels atomic.Pointer[map[string]string]   // see ProjectModels
	without       atomic.Pointer[projectconfig.Layer] // see Without
	checks        atomic.Pointer[processChecks]       // nil where the process may run all
	reads         atomic.Int64                        // read calls begun and ended: odd while in one
	lastID        atomic.Int64

	skills skillList

	noMessages atomic.Int64 // lines that are no JSON-RPC message, or longer than 256 MiB
	dropped    atomic.Int64 // events that nobody read while closing

	mu       sync.Mutex
	state    clientState
	shutdown chan struct{} // closed when Close has done all it can; nil before
}

// clientState is what mu guards.
type clientState struct {
	version       stream.Version
	started       bool // droid has said a line
	pending       map[string]*pendingCall
	calls         int64           // sent so far
	read          int64           // the number of the latest that droid has answered
	opened        bool            // Initialize or Load was done
	answered      bool            // and droid has answered the latest of them
	sessions      map[string]bool // ids that the process has worked on
	session       string          // the one it works on
	lastAccepted  string          // the request id of the latest user message that it took
	busy          bool
	idle          chan struct{} // closed while not busy
	closing       bool
	unknownFields map[string]int
	killedFor     string     // see ExitError
	exit          *ExitError // once set, all calls return it
}

// NewClient returns a client of a droid that somebody else runs: stdout is what
// it writes and stdin what it reads. Closing stdin must unblock a Write. The
// client ends when stdout does; Close and Kill close stdout when it is an
// io.Closer.
func NewClient(stdout io.Reader, stdin io.WriteCloser, log *zap.Logger) *Client {
	return newClient(stdout, stdin, nil, nil, log, defaultBounds)
}

// NewClientWithSettings is NewClient for a droid that has a settings file of its own:
// settings gets what SetRuntime makes the file hold. The droid has our environment.
func NewClientWithSettings(stdout io.Reader, stdin io.WriteCloser, settings func(data []byte) error, log *zap.Logger) *Client {
	return newClient(stdout, stdin, nil, settings, log, defaultBounds)
}

// newClient returns a client whose goroutines run.
func newClient(stdout io.Reader, stdin io.WriteCloser, p *process, settings func(data []byte) error, log *zap.Logger, b timeouts) *Client {
	log = cmp.Or(log, zap.NewNop())
	idle := make(chan struct{})
	close(idle)
	c := &Client{
		log:         log,
		bounds:      b,
		proc:        p,
		stdout:      stdout,
		env:         os.Environ(),
		events:      make(chan stream.Event, eventBuffer),
		out:         newWriter(stdin),
		callGate:    make(chan struct{}, 1),
		serversSeen: make(chan struct{}),
		closing:     make(chan struct{}),
		readDone:    make(chan struct{}),
		dead:        make(chan struct{}),
		exited:      make(chan struct{}),
		state: clientState{
			pending:       map[string]*pendingCall{},
			sessions:      map[string]bool{},
			unknownFields: map[string]int{},
			idle:          idle,
		},
	}
	if p != nil {
		c.env, c.own, c.started, c.outside, c.findBackground = p.env, p.own, p.without, p.HasEscaped, p.findBackground
		c.given.Store(p.project)
		if p.checked {
			c.checks.Store(&processChecks{home: Home(p.env), own: p.settings == nil && givesSettings(p.env)})
		}
	}
	if settings != nil {
		c.settings = &settingsFile{replace: settings, late: b.late, log: log, tasks: map[string]bool{}}
	}
	c.guard(func() { c.out.run(c.failFirst) })
	c.guard(func() { c.read(b.line) })
	c.guard(c.supervise)
	c.guard(func() {
		<-c.exited
		<-c.readDone
		close(c.events)
		c.notify()
	})
	return c
}

// Events returns the events in the order in which droid wrote them. The channel
// is closed after the last one, when droid's stdout and droid have ended. Its buffer is
// bounded: a reader that is slow slows droid. Once Close or Kill was called,
// events that are not read promptly are dropped.
func (c *Client) Events() <-chan stream.Event { return c.events }

// Notify has wake, which must have a buffer, get a token when there may be something to take from Events, unless it has one.
func (c *Client) Notify(wake chan<- struct{}) {
	c.wake.Store(&wake)
	c.notify()
}

func (c *Client) notify() {
	if wake := c.wake.Load(); wake != nil {
		select {
		case *wake <- struct{}{}:
		default:
		}
	}
}

// Version returns droid's protocol version: the zero Version until the first
// line has arrived, and when droid tells none.
func (c *Client) Version() stream.Version {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.version
}

// Exited returns a channel that is closed when the process has ended, its stdout is
// fully read, and what it left in its process group has ended. A process that was killed
// and does not end is given up, see child.killTimeout.
func (c *Client) Exited() <-chan struct{} { return c.exited }

// HasChildren reports whether droid has processes of its own running, such as a
// command that it left in the background. An idle droid has none but its MCP
// servers, which do not count: they are in droid's process group, and tools are
// not (0.99 to 0.225). It reports true where the system cannot tell, and false for
// a client without a process.
func (c *Client) HasChildren() bool { return c.outside != nil && c.outside() }

// StubChildren has a client without a process say that droid has children when outside does.
func (c *Client) StubChildren(outside func() bool) { c.outside = outside }

// ExitError returns how droid ended, and nil before Exited is closed.
func (c *Client) ExitError() *ExitError {
	if !isClosed(c.exited) {
		return nil
	}
	return c.exitError()
}

// Ending returns a channel that is closed when droid's stdout has ended. Nothing can be
// asked of it any more; Events is closed when it is gone.
func (c *Client) Ending() <-chan struct{} { return c.readDone }

// supervise waits for the end of the process and of the other goroutines, and
// makes every call return then.
func (c *Client) supervise() {
	defer close(c.exited)
	defer c.settings.close()
	if c.proc == nil {
		c.superviseStreams()
		return
	}
	select {
	case <-c.proc.Exited():
	case <-c.readDone:
		c.endBroken("stdout")
	case <-c.out.Failed():
		c.endBroken("stdin")
	}
	exit := c.proc.exitError(c.bounds.drain, c.log)
	c.drainStdout(exit)
	c.fail(exit)
	c.out.abort()
	<-c.out.Done()
	<-c.proc.AllExited()
	c.proc.clean()
	c.proc.Stdout.Close() // read to its end
	c.log.Debug("droid ended", zap.Error(exit), zap.Int64("noMessages", c.noMessages.Load()))
}

func (c *Client) superviseStreams() {
	select {
	case <-c.readDone:
	case <-c.out.Failed():
		c.log.Info("droid reads nothing more", zap.Error(c.out.Err()))
		c.fail(&ExitError{Code: -1}) // users read the same, whichever stream they hear of first
		<-c.readDone
	}
	c.fail(&ExitError{Code: -1})
	c.out.abort()
	<-c.out.Done()
}

// endBroken kills a droid that closed a stream and lives on: nothing can be
// said to it any more.
func (c *Client) endBroken(stream string) {
	select {
	case <-c.proc.Exited():
		return
	case <-c.closing: // Close ends it
		return
	case <-time.After(c.bounds.broken):
	}
	c.log.Warn("droid closed a stream but did not end; killing it", zap.String("stream", stream))
	c.noteKill("it had closed its " + stream + " and did not end")
	c.killProcess()
}

// drainStdout waits for the reader to end. Calls do not wait longer than one
// interval, because the reader may itself wait for the reader of Events. A child
// of droid may hold the pipe open for ever, so a read that got nothing for a
// whole interval ends the reader.
func (c *Client) drainStdout(exit *ExitError) {
	t := time.NewTicker(c.bounds.drain)
	defer t.Stop()
	before := c.reads.Load()
	for {
		select {
		case <-c.readDone:
			return
		case <-t.C:
		}
		c.fail(exit)
		now := c.reads.Load()
		if now%2 == 1 && now == before {
			c.proc.Stdout.Close()
		}
		before = now
	}
}

func (c *Client) exitError() *ExitError {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.exit
}

// fail makes all calls return exit, now and later. Only the first counts.
func (c *Client) fail(exit *ExitError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.exit != nil {
		return
	}
	exit.Started, exit.Requested, exit.KilledFor = c.state.started, c.state.closing, c.state.killedFor
	c.state.exit = exit
	for id, p := range c.state.pending {
		p.done <- callOutcome{err: exit}
		delete(c.state.pending, id)
	}
	c.setBusy(false)
	close(c.dead)
}

// setBusy records whether a turn runs. The caller holds mu.
func (c *Client) setBusy(busy bool) {
	s := &c.state
	if busy == s.busy {
		return
	}
	s.busy = busy
	if busy {
		s.idle = make(chan struct{})
	} else {
		close(s.idle)
	}
}
