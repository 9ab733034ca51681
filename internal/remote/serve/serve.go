// Package serve keeps agents running while their clients come and go. Its main type is Server: it passes ACP's messages between clients and
// agents, keeps each session's messages in a journal, and lets other clients join a session in the agent that has it open. A client that
// opens a new session, or a stored one that no agent has open, gets an agent, which it shares with clients whose agents would be alike. The
// command serve runs one, with connections from package transport.
//
// The package knows lines, requests, responses, and where ACP's messages name a session. It knows nothing of a particular agent;
// Options.Agent describes that. One lock guards everything: nothing waits for a disk, a process or a client while holding it.
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

// Outlet sends to a client. A transport makes one for each connection.
type Outlet interface {
	// Send queues a message: one JSON text without a line end, which the outlet must not change. It never blocks and never calls the
	// server. A client that is gone, or so slow that too much is queued, is sent nothing more, and the transport calls Disconnected.
	Send(message []byte)
	// Close ends the connection once the queue is written. reason is for people. It does not block.
	Close(reason string)
	// Waiting returns how many bytes are queued.
	Waiting() int
	// Full returns nil while there is room, otherwise a channel that is closed once there is room again or the client is gone. An agent
	// whose only client has no room is not read.
	Full() <-chan struct{}
}

// ClientOptions describe what a transport knows of its client.
type ClientOptions struct {
	// Local says that it is a process of the same user on this machine, which may say how its agent is started: AttachParams.
	Local bool
	// From is its origin, for Status: "socket", "127.0.0.1:51234".
	From string
	// Role limits its calls; a local client may do everything.
	Role Role
	// Token is the name of the token that it presented, and Connection the ID of its connection, for the log.
	Token, Connection string
}

// AttachParams are the params of the notification AttachMethod, which a local client sends first.
type AttachParams struct {
	Program   string   `json:"program"`             // absolute path of the program to run as its agent
	Args      []string `json:"args"`                // its arguments
	Env       []string `json:"env"`                 // its complete environment
	Directory string   `json:"directory"`           // its directory
	WatchOnly bool     `json:"watchOnly,omitempty"` // it answers no questions and sends no requests; it also Joins
	Joins     bool     `json:"joins,omitempty"`     // it opens only sessions that an agent has open, and gets no agent
	Stderr    bool     `json:"stderr,omitempty"`    // it shows what its agent writes to stderr: StderrMethod
	Activity  bool     `json:"activity,omitempty"`  // it is sent whether its sessions work: protocol.ActivityMethod
}

// AttachMethod is the method of that notification.
const AttachMethod = "_droid-acp/hello"

// StderrMethod is the method of a notification to a local client that has asked for it, with a piece of its agent's stderr, as an editor
// reads it from an agent that it starts itself.
const StderrMethod = "_droid-acp/stderr"

// StderrParams are the params of StderrMethod.
type StderrParams struct {
	Text string `json:"text"`
}

// States of a session.
const (
	Idle    = "idle"
	Running = "running"
	Asking  = "asks" // it waits for an answer of its user
)

// SessionInfo describes an open session in a Status.
type SessionInfo struct {
	ID        string    `json:"id"`
	Title     string    `json:"title,omitempty"`
	Directory string    `json:"directory"`
	State     string    `json:"state"`              // Idle, Running or Asking
	Question  string    `json:"question,omitempty"` // the title of the open question
	Since     time.Time `json:"since"`              // when that state began
	Clients   []string  `json:"clients"`            // the names of its clients; the first one that can gets files and forms
	Agent     int       `json:"agent"`              // the process id of its agent
}

// Status describes a server.
type Status struct {
	Version  string        `json:"version"`
	Process  int           `json:"process"`
	Replaced bool          `json:"replaced"` // the program's file was replaced since it started
	Draining bool          `json:"draining"` // it accepts no new sessions, and ends when nothing works
	Clients  int           `json:"clients"`
	Agents   int           `json:"agents"`
	Sessions []SessionInfo `json:"sessions"`
}

// Options configure a server.
type Options struct {
	Agent     relay.Agent   // what is known of the agent
	Program   string        // the agent's program, for clients that do not name one
	Args      []string      // its arguments
	Journals  string        // a directory for journals only, private to the user; its files are those of servers that were killed, or of Earlier
	AnswerFor time.Duration // how long a question waits for a client that may answer it
	KeepIdle  time.Duration // how long an idle session stays open without a client
	Version   string
	Command   relay.Command

	MaxAgents   int       // agents that run at once; 0 for any number
	MaxSessions int       // open sessions for each token; 0 for any number
	MaxMemory   int64     // bytes that agents use together when another session is opened; 0 for any number
	Stderr      io.Writer // receives the agents' stderr, and must not block
	Log         *zap.Logger

	// ServeQueries serves ACP in this process, as the agent described by h would, but opens no session. It answers clients without an open
	// session, and returns at the end of in. If it is nil, an agent process answers.
	ServeQueries func(h AttachParams, in io.Reader, out io.Writer) error

	// Compare says how the agent of joiner would differ from that of has: stricter is the setting by which it would let less run without a
	// question, "" if none; settings are the settings that differ, including environment variables, named as users know them. It may be
	// nil.
	Compare func(has, joiner AttachParams) (stricter string, settings []string)

	// Thread returns the IDs by which an agent started with h knows a conversation, the newest last. It may wait for the disk. It is nil if
	// the agent knows each conversation by one ID.
	Thread func(h AttachParams, id string) ([]string, error)

	// Memory returns how much memory processes and their descendants use, in bytes. It may wait for the disk. It may be nil.
	Memory func(processes []int) (int64, error)

	// Ready returns why no agent could work, nil if one could. It may wait for the disk. It may be nil.
	Ready func() error

	// Earlier is the server whose place this one has taken; nil if there cannot be one.
	Earlier Earlier

	journalSize     int64 // 0 for the default, journalSize
	unfinishedSize  int64 // 0 for the default, unfinishedSize
	maxLine         int   // 0 for relay.MaxLine
	start           func(h AttachParams, stderr io.Writer) (agentProcess, error)
	startQueryAgent func(h AttachParams, stderr io.Writer) (agentProcess, error)
}

const (
	// endTime is how long an agent may take to end. An agent of this program takes up to 20 s.
	endTime = 25 * time.Second
	// loadTime is how long a load of a disconnected client may take.
	loadTime = 30 * time.Second
)

// Server holds the agents, sessions and clients. Make it with New and end it with Close.
type Server struct {
	Options
	self  fileID
	begun time.Time
	env   []string       // the server's own environment
	work  sync.WaitGroup // goroutines of agents and replays

	metrics metrics

	mu           sync.Mutex
	agents       map[*agent]struct{}
	started      int // agents so far
	clients      map[*Client]struct{}
	sessions     map[string]*session
	closedIn     map[string]*agent    // the running agents of closed sessions, whose processes they may not have ended yet
	questions    map[string]*question // by the ID that clients got
	lastID       int64                // of requests, in both directions
	journals     int64                // number of journals begun
	unfinished   map[string][]string  // kept journals, by journalKey of their sessions
	closed       bool
	memory       int64         // of the agents, as last measured
	startFailure error         // of the last agent process that was started, nil if it started
	drains       int           // calls of Drain that wait or have succeeded
	aside        bool          // another server has the place of this one
	changed      chan struct{} // closed and replaced when a client or an agent comes or goes, and while drains when a session may be idle
}

// New makes an empty server. It fails if the directory of journals cannot be used.
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
		sessions: map[string]*session{}, closedIn: map[string]*agent{}, questions: map[string]*question{}, changed: make(chan struct{}),
	}
	if err := s.loadUnfinished(); err != nil {
		return nil, fmt.Errorf("no journals can be kept: %w", err)
	}
	return s, nil
}

// fileID distinguishes a file from one that has replaced it.
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

// notifyChange wakes those who wait for a client or an agent to come or go, or to be used. The caller holds mu.
func (s *Server) notifyChange() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// newID returns an unused request ID. The caller holds mu.
func (s *Server) newID() string {
	s.lastID++
	return strconv.FormatInt(s.lastID, 10)
}

func (s *Server) newJournal(session string) *journal {
	s.journals++
	return newJournal(filepath.Join(s.Journals, fmt.Sprintf("%s-%019d-%06d.jsonl", journalKey(session), s.begun.UnixNano(), s.journals)), s.journalSize)
}

// removeJournal removes a journal in the background.
func (s *Server) removeJournal(j *journal) { s.work.Go(j.remove) }

// Join adds a client for a new connection.
func (s *Server) Join(out Outlet, o ClientOptions) *Client {
	c := &Client{
		server: s, out: out, options: o, role: o.Role,
		agentKind: agentKind{attachParams: AttachParams{Program: s.Program, Args: s.Args, Env: s.env}},
	}
	if o.Local {
		c.role = Full
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.gone = true
		out.Close(errClosed.Error())
		return c
	}
	s.clients[c] = struct{}{}
	c.late = s.aside
	s.notifyChange()
	return c
}

var errClosed = errors.New("the server ends")

// Status returns the state of the server and its open sessions.
func (s *Server) Status() Status {
	s.mu.Lock()
	status := Status{Version: s.Version, Process: os.Getpid(), Draining: s.drains > 0, Clients: len(s.clients), Sessions: []SessionInfo{}}
	status.Agents = s.agentCount()
	for _, open := range s.sessions {
		status.Sessions = append(status.Sessions, open.info())
	}
	s.mu.Unlock()
	status.Replaced = statFileID(s.Program) != s.self
	slices.SortFunc(status.Sessions, func(a, b SessionInfo) int { return a.Since.Compare(b.Since) })
	return status
}

// End ends a session, even while something runs in it. It fails if there is no such session, or if it cannot be ended.
func (s *Server) End(ctx context.Context, id string) error {
	done := make(chan error, 1)
	s.mu.Lock()
	open := s.sessions[id]
	if open == nil {
		s.mu.Unlock()
		return s.notOpen(id)
	}
	begun, params := time.Now(), map[string]string{"sessionId": id}
	open.agent.notify("session/cancel", params)
	open.agent.ask("session/close", params, func(_ []byte, err error) { done <- err })
	s.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("after %s the agent of session %s has not ended it; %s ends the agent, and its other sessions with it", duration(time.Since(begun).Round(time.Second)), id, s.Command("stop", "--force", id))
	}
}

// Idle returns nil once there has been neither a client nor an agent for limit, or the error of ctx.
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

// Close ends all agents and clients, and returns when they are gone: gracefully until ctx is done, then by force.
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
	_ = s.Idle(context.Background(), 0) // it has no deadline
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.work.Wait()
	}()
	if !subprocess.WaitTimeout(done, relay.DrainTime) {
		s.Log.Warn("a disk does not answer; abandoning what waits for it")
	}
	if s.runsBesideAnother() {
		return
	}
	_ = os.Remove(filepath.Join(s.Journals, unfinishedDir)) // it is empty if nothing is kept
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
