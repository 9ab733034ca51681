// Package trace records what passes between the editor, droid-acp and each droid, and shows such a recording. A Recorder writes Records to a
// file without holding up those whose bytes it copies, without secrets (package redact). Read reads the file again, and a Trace is shown as
// text, as a page with a time line, or made into a fixture for tests. cmd/droid-acp calls both halves.
package trace

import (
	"encoding/json"
	"time"

	"droid-acp/internal/droid/redact"
)

// Record is a line of the file: a message, or a note about the connection or the recording.
type Record struct {
	Time  time.Time `json:"time"`
	Agent int       `json:"agent"` // process id of the droid-acp
	// Peer is the other end of the connection, "" for a note about the recording; PID is the process id of a droid.
	Peer Peer      `json:"peer,omitempty"`
	PID  int       `json:"pid,omitempty"`
	Dir  Direction `json:"dir,omitempty"`

	Line json.RawMessage `json:"line,omitempty"` // a line that is JSON
	Text string          `json:"text,omitempty"` // any other line
	Size int             `json:"size,omitempty"` // of a line that was too long to be recorded
	Note string          `json:"note,omitempty"`
	Lost int             `json:"lost,omitempty"` // number of lines that are missing here
}

// Peer is the program at the other end of a connection.
type Peer string

// The peers.
const (
	Editor Peer = "editor"
	Droid  Peer = "droid"
)

// Direction is the direction of a line, seen from droid-acp.
type Direction string

// The directions.
const (
	Received Direction = "received"
	Sent     Direction = "sent"
)

// Notes about a connection.
const (
	noteStarted = "started"
	noteEnded   = "ended" // the peer has closed its end
	noteClosed  = "closed its input"
)

// Mark is the beginning of each file.
const Mark = `{"droid-acp-trace":1,`

// Head is the first line of a file, and of each droid-acp that appends to it.
type Head struct {
	Format  int       `json:"droid-acp-trace"`
	About   string    `json:"about"`
	Time    time.Time `json:"time"`
	Agent   int       `json:"agent"`
	Version string    `json:"version"`
	System  string    `json:"system"`
}

// About warns whoever opens a file.
const About = "This trace has prompts, answers and texts of files in it. Known secrets are replaced by " + redact.Mark + "; read it before you give it to others."
