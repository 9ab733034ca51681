// Package serve keeps agents alive while their clients come and go. It runs the agent of
// each client as a process of its own, passes ACP's messages on between them, keeps what
// each session was told in a journal, and lets other clients join a session that runs. It
// knows lines, requests and their answers, and where ACP's messages name a session; nothing
// of droid or of a session's inside.
package serve

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// Outlet is the way to a client. A transport makes one for each connection.
type Outlet interface {
	// Send queues a message: one JSON text without a line's end, which the outlet must not
	// change. session is the session that it is about, "" for none. It never blocks; a
	// client that is gone, or that reads so slowly that too much waits, gets nothing more, and the
	// transport calls Gone.
	Send(message []byte, session string)
	// Close ends the connection once what was sent is written. reason is for people.
	Close(reason string)
}

// ClientOptions say what a transport knows of its client.
type ClientOptions struct {
	// Local is a process of the same user on this machine, which may say how its agent is started: Hello.
	Local bool
	// Where it comes from, for Sessions: "socket", "127.0.0.1:51234".
	From string
}

// Hello is the params of the notification _droid-acp/hello, with which a local client begins.
type Hello struct {
	Program   string   `json:"program"`             // the absolute path of the droid-acp to run as its agent
	Args      []string `json:"args"`                // and its arguments
	Env       []string `json:"env"`                 // its whole environment
	Directory string   `json:"directory"`           // and its directory
	WatchOnly bool     `json:"watchOnly,omitempty"` // it answers no questions
}

// HelloMethod is the method of that notification.
const HelloMethod = "_droid-acp/hello"

// SessionInfo is what Sessions tells of a session that is open.
type SessionInfo struct {
	ID        string    `json:"id"`
	Title     string    `json:"title,omitempty"`
	Directory string    `json:"directory"`
	State     string    `json:"state"`    // "idle", "running", "asks" (it waits for an answer)
	Question  string    `json:"question"` // the title of what is asked, "" for nothing
	Since     time.Time `json:"since"`    // when that state began
	Clients   []string  `json:"clients"`  // names of those that are there, the one that has files and forms first
	Agent     int       `json:"agent"`    // the process id of its agent
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
	Program   string        // the droid-acp that is run for clients that say nothing of their own
	Args      []string      // and its arguments
	Journals  string        // the directory of the journals, private to the user
	AnswerFor time.Duration // how long a question waits for a client that may answer it
	KeepIdle  time.Duration // how long an agent stays without a client once nothing runs
	Version   string
	Log       *zap.Logger
}

// Server has the agents, sessions and clients.
type Server struct{}

// New makes a server that has nothing yet.
func New(o Options) *Server { panic("to come") }

// Join makes a client of a new connection.
func (s *Server) Join(out Outlet, o ClientOptions) *Client { panic("to come") }

// Status tells what is open.
func (s *Server) Status() Status { panic("to come") }

// End ends a session, whatever runs in it.
func (s *Server) End(ctx context.Context, session string) error { panic("to come") }

// Idle returns nil once there was neither a client nor an agent for limit, or ctx's error.
func (s *Server) Idle(ctx context.Context, limit time.Duration) error { panic("to come") }

// Close ends all agents and clients, politely, then not, and returns when they are gone.
func (s *Server) Close(ctx context.Context) { panic("to come") }

// Client is a connection as the server sees it. A transport calls its methods one at a time.
type Client struct{}

// Receive takes one message of the client, whose memory it does not keep.
func (c *Client) Receive(message []byte) { panic("to come") }

// Gone says that the connection has ended.
func (c *Client) Gone() { panic("to come") }
