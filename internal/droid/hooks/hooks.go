// Package hooks connects a hook program, which droid starts through a shell for each tool call, with the running agent, which wants to know
// of the call. Its main types are Listener, which the adapter opens once, and Handler.
//
// The program is this executable (Run). It sends droid's request to the agent's socket, waits for the answer and prints it for droid. On
// any error it prints nothing and exits with 0: droid then works as if there were no hook. It never decides a permission.
//
// Each side sends one JSON object of at most maxMessage bytes. Both check that the other side belongs to the same user. Any process of this
// user can send a request, including commands that the model runs: a handler must not do more for it than droid's own tool call could do.
package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"droid-acp/internal/text/rawjson"
)

const (
	// maxMessage is the maximum size of a request and of an answer, in bytes. A request contains the whole text of a file that droid
	// creates.
	maxMessage = 16 << 20
	// ioTimeout is how long a program may take to send its request, and to read the answer.
	ioTimeout = 2 * time.Second
	// maxConnections is how many programs are served at once. Others wait until one of these has its answer.
	maxConnections = 64
	// runLimit is how long the program runs at most.
	runLimit = 15 * time.Second
)

// Request is droid's message to the hook program on stdin (0.99 to 0.225). droid sends a hook no ID of the tool call.
type Request struct {
	Event     string          `json:"event"`           // hook_event_name: "PreToolUse", "PostToolUse"
	SessionID string          `json:"session"`         // session_id; a subagent has its own
	Tool      string          `json:"tool"`            // tool_name
	Input     json.RawMessage `json:"input,omitempty"` // tool_input: JSON, nil if droid sends none
}

// Answer is the hook's output for droid. The zero Answer is no output.
type Answer struct {
	// UpdatedInput replaces the tool's input (after PreToolUse, 0.99 to 0.225). It decides no permission.
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	// Context is a text that the model reads after the tool's result (after PostToolUse, 0.99 to 0.225).
	Context string `json:"context,omitempty"`
}

// Handler answers one request. It runs in its own goroutine, many at once. ctx is cancelled when the answer is no longer awaited (the
// program was killed, or has waited 15 s) and when the Listener is closed.
type Handler func(ctx context.Context, r Request) Answer

// readMessage reads one JSON object into v. It does not read what follows it.
func readMessage(from io.Reader, v any) error {
	err := json.NewDecoder(io.LimitReader(from, maxMessage)).Decode(v)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the message is cut short, or longer than %d bytes", maxMessage)
	}
	return err
}

// readRequest reads a program's request.
func readRequest(from io.Reader) (Request, error) {
	var r Request
	if err := readMessage(from, &r); err != nil {
		return Request{}, err
	}
	if r.Event == "" || r.Tool == "" {
		return Request{}, errors.New("the request names no event or no tool")
	}
	return r, nil
}

// encode returns v as a message. No line end follows: the other side reads to the object's end, and treats any byte after it as an error.
func encode(v any) ([]byte, error) {
	line, err := rawjson.MarshalLine(v)
	data := bytes.TrimSuffix(line, []byte("\n"))
	if len(data) > maxMessage {
		return nil, fmt.Errorf("the message is longer than %d bytes", maxMessage)
	}
	return data, err
}
