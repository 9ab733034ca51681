package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"unicode/utf8"

	"droid-acp/internal/jsonrpc"
)

// Codes of JSON-RPC 2.0.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
)

// The mistakes of a text that is no message. What a user reads of them is in refusal.
var (
	errNotJSON   = errors.New("the message is not JSON in UTF-8; send one JSON object")
	errBatch     = errors.New("ACP has no batches; send each message by itself")
	errNoMessage = errors.New(`the message is not a JSON object with one "method" or one "id"`)
)

// read returns the message that a text has.
func read(text []byte) (message []byte, err error) {
	text = bytes.TrimSpace(text)
	if !utf8.Valid(text) || !json.Valid(text) {
		return nil, errNotJSON
	}
	if text[0] == '[' {
		return nil, errBatch
	}
	if _, ok := jsonrpc.ReadHead(text); !ok {
		return nil, errNoMessage
	}
	return text, nil
}

// refusal is the answer to what is no message.
func refusal(err error) []byte {
	code, title := codeInvalidRequest, "Invalid request"
	if errors.Is(err, errNotJSON) {
		code, title = codeParseError, "Parse error"
	}
	line := jsonrpc.EncodeError(nil, jsonrpc.NewError(code, title, err.Error()))
	return bytes.TrimSuffix(line, []byte("\n"))
}

// budget is how many bytes of messages may be read at once, by all clients together.
type budget struct{ left atomic.Int64 }

func (b *budget) take(n int64) bool {
	if b.left.Add(-n) < 0 {
		b.left.Add(n)
		return false
	}
	return true
}

func (b *budget) give(n int64) { b.left.Add(n) }

// errBusy is that all clients together send too much at once.
var errBusy = errors.New("the server reads too many large messages at once; try again")

// gather reads a message of at most limit bytes, piece by piece. Who has used it calls
// release, also after an error. Before each piece it calls step.
func (b *budget) gather(r io.Reader, limit int64, step func()) (text []byte, release func(), err error) {
	var taken int64
	release = func() { b.give(taken) }
	for {
		step()
		if len(text) == cap(text) {
			grown := min(max(4<<10, 2*cap(text)), int(limit)+1)
			if !b.take(int64(grown - cap(text))) {
				return nil, release, errBusy
			}
			taken += int64(grown - cap(text))
			text = append(make([]byte, 0, grown), text...)
		}
		n, err := r.Read(text[len(text):min(cap(text), len(text)+pieceSize)])
		text = text[:len(text)+n]
		switch {
		case int64(len(text)) > limit:
			return nil, release, &http.MaxBytesError{Limit: limit}
		case errors.Is(err, io.EOF):
			return text, release, nil
		case err != nil:
			return nil, release, err
		}
	}
}
