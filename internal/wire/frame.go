package wire

import (
	"encoding/json"
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// frame is the outline of a JSON-RPC message. It decodes as strictly as the SDK's
// own type does, so that the SDK understands whatever passes the gate.
type frame struct {
	JSONRPC string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id"`
	Method  string            `json:"method"`
	Params  json.RawMessage   `json:"params"`
	Result  json.RawMessage   `json:"result"`
	Error   *acp.RequestError `json:"error"`
}

// decode reads a message that the SDK's connection will understand, or says why it
// would not.
func (f *frame) decode(line []byte) *acp.RequestError {
	switch {
	case !json.Valid(line):
		return notJSON()
	case line[0] == '[':
		return malformed("ACP has no batches; send each message on a line of its own")
	case line[0] != '{' || json.Unmarshal(line, f) != nil:
		return malformed("the line is not a JSON-RPC message")
	}
	return f.check()
}

// check finds what the SDK's connection would drop or take for something else.
func (f *frame) check() *acp.RequestError {
	switch {
	case f.JSONRPC != "2.0":
		return malformed(`"jsonrpc" must be "2.0"`)
	case len(f.ID) > 0 && f.answerID() == nil:
		return malformed(`"id" must be a string in UTF-8 or a number`)
	case f.Method == "" && len(f.ID) == 0:
		return malformed(`a message needs a "method" or an "id"`)
	case f.Method == "" && f.Result == nil && f.Error == nil:
		return malformed(`a request needs a "method", a response a "result" or an "error"`)
	}
	return nil
}

// isRequest reports whether the message asks for a response.
func (f *frame) isRequest() bool { return f.Method != "" && len(f.ID) > 0 }

// hasHandler reports whether a handler is called for the message. The SDK's
// connection deals with responses and with the notification of a cancelled request
// by itself.
func (f *frame) hasHandler() bool {
	return f.isRequest() || f.Method != "" && f.Method != methodCancelRequest
}

// answerID is the id to answer with: the message's own if it is one that JSON-RPC
// allows, else nil. One that is not well formed cannot be repeated in an answer that is,
// and two of them could become the same.
func (f *frame) answerID() json.RawMessage {
	if len(f.ID) == 0 || !strings.ContainsRune(`"-0123456789`, rune(f.ID[0])) || !isWellFormed(f.ID) {
		return nil
	}
	return f.ID
}

// errorLine is an error response. An id that is not known is nil, and null in it.
func errorLine(id json.RawMessage, e *acp.RequestError) []byte {
	line, _ := json.Marshal(struct { // ids and errors of our own making always encode
		JSONRPC string            `json:"jsonrpc"`
		ID      json.RawMessage   `json:"id"`
		Error   *acp.RequestError `json:"error"`
	}{"2.0", id, e})
	return append(line, '\n')
}
