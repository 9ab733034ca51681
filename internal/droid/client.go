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
	"droid-acp/internal/jsonrpc/flight"
)

// eventBuffer is how many unread events are buffered before droid has to wait.
const eventBuffer = 64

// timeouts limit how long to wait; tests shorten them.
type timeouts struct {
	interrupt time.Duration // Close: for the running turn to end
	eof       time.Duration // Close: after stdin was closed; 0.215 needs about 6 s
	term      time.Duration // Close: after SIGTERM
	drain     time.Duration // for the rest of the output after the process has exited
	broken    time.Duration // for a process to exit after it closed stdin or stdout
	stall     time.Duration // while closing: for the reader of Events, after which events are dropped
	late      time.Duration // after initialize_session: maximum time until droid reads its settings file again
	look      time.Duration // after its version: for droid to look for MCP servers at its start
	line      int           // maximum length of a line, in bytes
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

// Client talks to one droid. Its methods may be called from any goroutine except the one that reads Events: a response may be queued behind
// unread events.
type Client struct {
	log            *zap.Logger
	bounds         timeouts
	proc           *process             // nil for a client without a process
	started        *projectconfig.Layer // see StartedExcluding
	env            []string             // of the process
	own            map[string]string    // see process.own
	models         []CustomModel        // of the process
	settings       *settingsFile        // nil without one
	outside        func() bool          // reports whether droid has children; nil if there is no process
	findBackground func(id int) (BackgroundCommand, error)
	stdout         io.Reader
	flight         *flight.Connection // nil without one
	events         chan stream.Event
	wake           atomic.Pointer[chan<- struct{}] // see Notify
	out            *writer

	callGate       chan struct{} // holds a token while a call makes others wait, see Call
	serversSeen    chan struct{} // closed by the reader when droid has reported MCP servers
	closing        chan struct{} // closed when Close or Kill begins
	sessionClosing atomic.Bool   // the session is being closed: output of hooks is not delivered
	readDone       chan struct{} // closed when stdout has ended
	dead           chan struct{} // closed when no more responses can arrive
	exited         chan struct{} // closed when all goroutines of the client have ended

	hooked        atomic.Bool                         // see HasHooks
	noLogin       atomic.Bool                         // see LacksLogin
	given         atomic.Pointer[projectconfig.Layer] // see Given
	projectModels atomic.Pointer[map[string]string]   // see ProjectModels
	without       atomic.Pointer[projectconfig.Layer] // see Excluded
	checks        atomic.Pointer[processChecks]       // nil if the process may run everything
	reads         atomic.Int64                        // read calls begun and ended: odd during one
	lastID        atomic.Int64

	skills skillList

	noMessages atomic.Int64 // lines that are not JSON-RPC messages, or longer than 256 MiB
	dropped    atomic.Int64 // unread events dropped while closing

	mu       sync.Mutex
	state    clientState
	shutdown chan struct{} // closed when Close has finished; nil until it begins
}

// clientState is the state guarded by mu.
type clientState struct {
	version       stream.Version
	started       bool // droid has written a line
	pending       map[string]*pendingCall
	calls         int64           // number sent so far
	read          int64           // number of the latest one that droid has answered
	opened        bool            // Initialize or Load was done
	answered      bool            // droid has answered the latest of them
	sessions      map[string]bool // IDs of all sessions the process has worked on
	session       string          // ID of its current session
	lastAccepted  string          // request ID of the latest user message that it accepted
	busy          bool
	idle          chan struct{} // closed while not busy
	closing       bool
	unknownFields map[string]int
	killedFor     string     // see ExitError
	exit          *ExitError // once set, all calls return it
}

// NewClient returns a client of a droid that the caller runs: stdout is droid's output and stdin its input. Closing stdin must unblock a
// Write. The client ends at the end of stdout; Close and Kill close stdout if it is an io.Closer.
func NewClient(stdout io.Reader, stdin io.WriteCloser, log *zap.Logger) *Client {
	return newClient(stdout, stdin, nil, nil, log, defaultBounds)
}

// NewClientWithSettings is NewClient for a droid with its own settings file: settings is called with the new content of the file by
// SetRuntime. The droid has our environment.
func NewClientWithSettings(stdout io.Reader, stdin io.WriteCloser, settings func(data []byte) error, log *zap.Logger) *Client {
	return newClient(stdout, stdin, nil, settings, log, defaultBounds)
}

// newClient returns a client with its goroutines started.
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
		c.env, c.own, c.models, c.started, c.outside, c.findBackground = p.env, p.own, p.models, p.without, p.HasEscaped, p.findBackground
		c.given.Store(p.project)
		c.flight = p.flight
		c.out.Record(p.flight)
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

// Flight returns the record of the process's messages, nil if there is none.
func (c *Client) Flight() *flight.Connection { return c.flight }

// Events returns the events in the order in which droid wrote them. The channel is closed after the last event, when droid's stdout and
// process have ended. Its buffer is bounded: a slow reader slows droid down. After Close or Kill, events that are not read promptly are
// dropped.
func (c *Client) Events() <-chan stream.Event { return c.events }

// Notify makes the client put a token into wake, which must be buffered, whenever Events may have something to read, unless wake is full.
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

// Version returns droid's protocol version: the zero Version until the first line has arrived, and if droid does not report one.
func (c *Client) Version() stream.Version {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.version
}

// Exited returns a channel that is closed when the process has exited, its stdout is read to the end, and its process group has ended. A
// killed process that does not exit is abandoned, see subprocess.killTimeout.
func (c *Client) Exited() <-chan struct{} { return c.exited }

// HasChildren reports whether droid has running child processes, such as a background command. An idle droid has only its MCP servers,
// which do not count: they are in droid's process group, and tools are not (0.99 to 0.225). It reports true if the system cannot tell, and
// false for a client without a process.
func (c *Client) HasChildren() bool { return c.outside != nil && c.outside() }

// StubChildren replaces HasChildren for a client without a process.
func (c *Client) StubChildren(outside func() bool) { c.outside = outside }

// ExitError returns how droid ended, nil before Exited is closed.
func (c *Client) ExitError() *ExitError {
	if !isClosed(c.exited) {
		return nil
	}
	return c.exitError()
}

// Ending returns a channel that is closed when droid's stdout has ended. No more calls are possible then; Events is closed when the process
// has ended.
func (c *Client) Ending() <-chan struct{} { return c.readDone }

// supervise waits for the end of the process and of the other goroutines, and then makes every call return.
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
	c.proc.Stdout.Close() // it is read to the end
	c.log.Debug("droid ended", zap.Error(exit), zap.Int64("noMessages", c.noMessages.Load()))
}

func (c *Client) superviseStreams() {
	select {
	case <-c.readDone:
	case <-c.out.Failed():
		c.log.Info("droid no longer reads its input", zap.Error(c.out.Err()))
		c.fail(&ExitError{Code: -1}) // the same error, whichever stream ends first
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

// drainStdout waits for the reader to end. Calls wait no longer than one interval, because the reader may itself wait for the reader of
// Events. A child of droid may hold the pipe open forever, so a read that returns nothing for a whole interval ends the reader.
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

// fail makes all calls return exit from now on. Only the first call has an effect.
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
