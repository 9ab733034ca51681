// Package hooks is the channel between a hook program, which droid starts through a
// shell for each tool call, and the running agent that wants to hear of the call.
//
// The program is this very executable (Run). It sends what droid tells it to the
// agent's socket, waits for the answer and gives it to droid. Whatever goes wrong, it
// prints nothing and ends with 0: then droid works as if there were no hook. It never
// decides a permission.
//
// Each side says one JSON object, at most maxMessage bytes. Both check that the other
// belongs to the same user. Any process of this user can send a request, commands that
// the model runs among them: a handler must not do more for it than droid's own tool
// call would have got.
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
	// maxMessage is the most bytes of a request and of an answer. A request holds the
	// whole text of a file that droid creates.
	maxMessage = 16 << 20
	// ioTimeout is how long a program may take to send its request, and to take the answer.
	ioTimeout = 2 * time.Second
	// maxConnections is how many programs are served at once. Others wait until one
	// of these has its answer.
	maxConnections = 64
	// runLimit is how long the program takes at most, whatever it waits for.
	runLimit = 15 * time.Second
)

// Request is what a hook's program was told by droid on its stdin (0.99 to 0.225).
// droid gives a hook no id of the tool call.
type Request struct {
	Event     string          `json:"event"`           // hook_event_name: "PreToolUse", "PostToolUse"
	SessionID string          `json:"session"`         // session_id; a subagent has one of its own
	Tool      string          `json:"tool"`            // tool_name
	Input     json.RawMessage `json:"input,omitempty"` // tool_input: JSON, nil where droid gives none
}

// Answer is what the hook says to droid. The zero Answer is nothing.
type Answer struct {
	// UpdatedInput is the input that droid runs the tool with in place of its own
	// (after PreToolUse, 0.99 to 0.225). It decides no permission.
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	// Context is a text that the model reads behind the tool's result (after
	// PostToolUse, 0.99 to 0.225).
	Context string `json:"context,omitempty"`
}

// Handler answers one request. It runs in a goroutine of its own, many at once. Its
// ctx ends when nobody waits for the answer any more (the program was killed, or has
// waited 15 s) and when the Listener is closed.
type Handler func(ctx context.Context, r Request) Answer

// readMessage reads one JSON object into v. What follows it is not read to its end.
func readMessage(from io.Reader, v any) error {
	err := json.NewDecoder(io.LimitReader(from, maxMessage)).Decode(v)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the message is cut short, or longer than %d bytes", maxMessage)
	}
	return err
}

// readRequest reads the request that a program sends.
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

// encode is v as a message. No line end follows: the other side reads to the object's
// end, and everything behind it would count as said too much.
func encode(v any) ([]byte, error) {
	line, err := rawjson.MarshalLine(v)
	data := bytes.TrimSuffix(line, []byte("\n"))
	if len(data) > maxMessage {
		return nil, fmt.Errorf("the message is longer than %d bytes", maxMessage)
	}
	return data, err
}
