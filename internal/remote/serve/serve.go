// Package serve keeps agents alive while their clients come and go. It passes ACP's messages
// on between them, keeps what each session was told in a journal, and lets other clients join
// a session in the agent that has it. A client that opens a new session, or a stored one that no
// agent has, gets an agent, which it shares with clients that would have one just alike. It
// knows lines, requests and their answers, and where ACP's messages name a session; nothing
// of one agent or of a session's inside: Options.Agent has what is to be known of that.
//
// One lock guards all of it: nothing that is done under it waits for a disk, a process or
// a client.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/remote/relay"
	"droid-acp/internal/sys/subprocess"
)

// Outlet is the way to a client. A transport makes one for each connection.
type Outlet interface {
	// Send queues a message: one JSON text without a line's end, which the outlet must not
	// change. It never blocks and calls nothing of the server's; a client that is gone, or that reads
	// so slowly that too much waits, gets nothing more, and the transport calls Disconnected.
	Send(message []byte)
	// Close ends the connection once what was sent is written. reason is for people. It does not block.
	Close(reason string)
	// Full returns nil while there is room, else a channel that is closed once there is again, or the
	// client is gone. An agent whose only client has no room is not read.
	Full() <-chan struct{}
}

// ClientOptions say what a transport knows of its client.
type ClientOptions struct {
	// Local is a process of the same user on this machine, which may say how its agent is started: Hello.
	Local bool
	// Where it comes from, for Status: "socket", "127.0.0.1:51234".
	From string
}

// AttachParams is the params of the notification AttachMethod, with which a local client begins.
type AttachParams struct {
	Program   string   `json:"program"`             // the absolute path of the program to run as its agent
	Args      []string `json:"args"`                // and its arguments
	Env       []string `json:"env"`                 // its whole environment
	Directory string   `json:"directory"`           // and its directory
	WatchOnly bool     `json:"watchOnly,omitempty"` // it answers no questions and asks for nothing; it Joins, too
	Joins     bool     `json:"joins,omitempty"`     // it opens sessions that an agent has, and gets no agent
	Stderr    bool     `json:"stderr,omitempty"`    // it shows what its agent writes to stderr: StderrMethod
}

// AttachMethod is the method of that notification.
const AttachMethod = "_droid-acp/hello"

// StderrMethod is the method of a notification to a local client that has asked for it: a piece of what its agent writes
// to stderr, which an editor reads of an agent of its own.
const StderrMethod = "_droid-acp/stderr"

// StderrParams are the params of StderrMethod.
type StderrParams struct {
	Text string `json:"text"`
}

// What a session is doing.
const (
	Idle    = "idle"
	Running = "running"
	Asking  = "asks" // it waits for an answer of its user's
)

// SessionInfo is what Status tells of a session that is open.
type SessionInfo struct {
	ID        string    `json:"id"`
	Title     string    `json:"title,omitempty"`
	Directory string    `json:"directory"`
	State     string    `json:"state"`              // Idle, Running or Asking
	Question  string    `json:"question,omitempty"` // the title of what is asked
	Since     time.Time `json:"since"`              // when that state began
	Clients   []string  `json:"clients"`            // names of those that are there; the first that can has files and forms
	Agent     int       `json:"agent"`              // the process id of its agent
}

// Status is what a server says of itself.
type Status struct {
	Version  string        `json:"version"`
	Process  int           `json:"process"`
	Replaced bool          `json:"replaced"` // the program on the disk is another one by now
	Clients  int           `json:"clients"`
	Agents   int           `json:"agents"`
	Sessions []SessionInfo `json:"sessions"`
}

// Options say how a server runs.
type Options struct {
	Agent     relay.Agent   // what is known of it
	Program   string        // its program, which is run for clients that say nothing of their own
	Args      []string      // and its arguments
	Journals  string        // a directory for the journals alone, private to the user; what lies there is an earlier server's
	AnswerFor time.Duration // how long a question waits for a client that may answer it
	KeepIdle  time.Duration // how long a session stays without a client once it rests
	Version   string
	Command   relay.Command
	Stderr    io.Writer // gets the agents' stderr, and must not block
	Log       *zap.Logger

	// ServeQueries serves ACP in this process, as the agent that h says would, but opens no session. It answers clients that have opened none,
	// and returns when in has ended. nil has the agent itself do that.
	ServeQueries func(h AttachParams, in io.Reader, out io.Writer) error

	// Compare says how an agent that joiner starts differs from one that has starts: by which setting it lets less run without a question, "" for
	// none, and in which settings, variables of these included, as a user names them. nil says nothing.
	Compare func(has, joiner AttachParams) (stricter string, settings []string)

	// Thread are the ids by which an agent that h starts knows the conversation of a session, the newest last. It may wait for a disk. nil is for
	// an agent that knows each by one.
	Thread func(h AttachParams, id string) ([]string, error)

	journalSize     int64 // 0 is journalSize
	unfinishedSize  int64 // 0 is unfinishedSize
	maxLine         int   // 0 is relay.MaxLine
	start           func(h AttachParams, stderr io.Writer) (agentProcess, error)
	startQueryAgent func(h AttachParams, stderr io.Writer) (agentProcess, error)
}

const (
	// endTime is how long an agent may take to end. This program's own takes up to 20 s.
	endTime = 25 * time.Second
	// loadTime is how long the load of a client that has gone may take.
	loadTime = 30 * time.Second
)

// Server has the agents, sessions and clients. Make it with New, and end it with Close.
type Server struct {
	Options
	self  fileID
	begun time.Time
	env   []string       // its own
	work  sync.WaitGroup // goroutines of agents and joiners

	mu         sync.Mutex
	agents     map[*agent]struct{}
	clients    map[*Client]struct{}
	sessions   map[string]*session
	questions  map[string]*question // by the id that clients got
	lastID     int64                // of requests, in both directions
	journals   int64                // begun so far
	unfinished map[string][]string  // journals that are kept, by journalKey their sessions
	closed     bool
	changed    chan struct{} // closed and made anew when a client or an agent comes or goes
}

// New makes a server that has nothing yet. The error is that of its journals' directory.
func New(o Options) (*Server, error) {
	if o.start == nil {
		o.start = o.startProcess
	}
	if o.startQueryAgent == nil {
		o.startQueryAgent = o.newQueryAgent
	}
	o.journalSize = cmp.Or(o.journalSize, journalSize)
	o.maxLine = cmp.Or(o.maxLine, relay.MaxLine)
	o.unfinishedSize = cmp.Or(o.unfinishedSize, unfinishedSize)
	s := &Server{
		Options: o, self: statFileID(o.Program), begun: time.Now(), env: os.Environ(), agents: map[*agent]struct{}{}, clients: map[*Client]struct{}{},
		sessions: map[string]*session{}, questions: map[string]*question{}, changed: make(chan struct{}),
	}
	if err := s.loadUnfinished(); err != nil {
		return nil, fmt.Errorf("no journals can be kept: %w", err)
	}
	return s, nil
}

// fileID tells a file from one that has taken its place.
type fileID struct {
	size int64
	at   time.Time
}

func statFileID(path string) fileID {
	info, err := os.Stat(path)
	if err != nil {
		return fileID{}
	}
	return fileID{info.Size(), info.ModTime()}
}

// notifyChange tells who waits that a client or an agent came or went. The caller holds mu.
func (s *Server) notifyChange() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// newID is an id that no other request has. The caller holds mu.
func (s *Server) newID() string {
	s.lastID++
	return strconv.FormatInt(s.lastID, 10)
}

func (s *Server) newJournal(session string) *journal {
	s.journals++
	return newJournal(filepath.Join(s.Journals, fmt.Sprintf("%s-%06d.jsonl", journalKey(session), s.journals)), s.journalSize)
}

// removeJournal removes a journal beside the caller.
func (s *Server) removeJournal(j *journal) { s.work.Go(j.remove) }

// Join makes a client of a new connection.
func (s *Server) Join(out Outlet, o ClientOptions) *Client {
	c := &Client{
		server: s, out: out, options: o,
		agentKind: agentKind{hello: AttachParams{Program: s.Program, Args: s.Args, Env: s.env}},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.gone = true
		out.Close(errClosed.Error())
		return c
	}
	s.clients[c] = struct{}{}
	s.notifyChange()
	return c
}

var errClosed = errors.New("the server ends")

// Status tells what is open.
func (s *Server) Status() Status {
	s.mu.Lock()
	status := Status{Version: s.Version, Process: os.Getpid(), Clients: len(s.clients), Sessions: []SessionInfo{}}
	for a := range s.agents {
		if !a.queryOnly {
			status.Agents++
		}
	}
	for _, open := range s.sessions {
		status.Sessions = append(status.Sessions, open.info())
	}
	s.mu.Unlock()
	status.Replaced = statFileID(s.Program) != s.self
	slices.SortFunc(status.Sessions, func(a, b SessionInfo) int { return a.Since.Compare(b.Since) })
	return status
}

// End ends a session, whatever runs in it. The error says that there is none, or why it goes on.
func (s *Server) End(ctx context.Context, id string) error {
	done := make(chan error, 1)
	s.mu.Lock()
	open := s.sessions[id]
	if open == nil {
		s.mu.Unlock()
		return fmt.Errorf("no session %s is open here; %s lists those that are", id, s.Command("ps"))
	}
	params := map[string]string{"sessionId": id}
	open.agent.notify("session/cancel", params)
	open.agent.ask("session/close", params, func(_ []byte, err error) { done <- err })
	s.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the agent of session %s does not end it: %w", id, ctx.Err())
	}
}

// Idle returns nil once there was neither a client nor an agent for limit, or ctx's error.
func (s *Server) Idle(ctx context.Context, limit time.Duration) error {
	for {
		s.mu.Lock()
		some, changed := len(s.clients)+len(s.agents) > 0, s.changed
		s.mu.Unlock()
		var over <-chan time.Time
		if !some {
			over = time.After(limit)
		}
		select {
		case <-over:
			return nil
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends all agents and clients, and returns when they are gone: politely until ctx is done, then
// at once.
func (s *Server) Close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	for c := range s.clients {
		c.out.Close(errClosed.Error())
	}
	for a := range s.agents {
		a.end()
	}
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, s.kill)
	defer stop()
	_ = s.Idle(context.Background(), 0) // without an end of its own
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.work.Wait()
	}()
	if !subprocess.WaitTimeout(done, relay.DrainTime) {
		s.Log.Warn("a disk does not answer, so what waits for it is left behind")
	}
	_ = os.Remove(filepath.Join(s.Journals, unfinishedDir)) // where nothing is kept
	_ = os.Remove(s.Journals)
}

func (s *Server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a := range s.agents {
		a.kill()
	}
	for c := range s.clients {
		c.leave()
	}
}
