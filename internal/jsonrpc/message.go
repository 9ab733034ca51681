package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"droid-acp/internal/text/rawjson"
)

// frame is the outline of a JSON-RPC message. Its members must have the types of the
// specification.
type frame struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  rawjson.Value   `json:"params"` // a part of the line
	Result  rawjson.Value   `json:"result"` // the same
	Error   *Error          `json:"error"`
}

// decode reads a message, or says why it is none.
func (f *frame) decode(line []byte) *Error {
	err := json.Unmarshal(line, f)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return notJSON()
	case line[0] == '[':
		return malformed("ACP has no batches; send each message on a line of its own")
	case line[0] != '{' || err != nil:
		return malformed("the line is not a JSON-RPC message")
	}
	return f.check()
}

// check finds what is no message, or could be taken for something else.
func (f *frame) check() *Error {
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

// answerID is the id to answer with: the message's own if it is one that JSON-RPC
// allows, else nil. One that is not well formed cannot be repeated in an answer that is,
// and two of them could become the same.
func (f *frame) answerID() json.RawMessage {
	if len(f.ID) == 0 || !strings.ContainsRune(`"-0123456789`, rune(f.ID[0])) || !isWellFormed(f.ID) {
		return nil
	}
	return f.ID
}

// IDKey is the same for an id however its text is escaped, and not the same for a text
// and a number.
func IDKey(id json.RawMessage) string {
	var text string
	if json.Unmarshal(id, &text) == nil {
		return `"` + text
	}
	return string(bytes.TrimSpace(id))
}

// EncodeCall is the line of a request, with its end, or of a notification where id is nil.
func EncodeCall(id json.RawMessage, method string, params any) ([]byte, error) {
	return encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Method  string          `json:"method"`
		Params  any             `json:"params,omitempty"`
	}{"2.0", id, method, params})
}

// EncodeResult is the line of a response, with its end.
func EncodeResult(id json.RawMessage, result any) ([]byte, error) {
	return encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, result})
}

// EncodeError is the line of an error response, with its end. An id that is not known is
// nil, and null in it. Data that cannot be encoded is left out.
func EncodeError(id json.RawMessage, e *Error) []byte {
	response := struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   Error           `json:"error"`
	}{"2.0", id, *e}
	line, err := encode(response)
	if err != nil {
		response.Error.Data = nil
		line, _ = encode(response) // ids and texts always encode
	}
	return line
}

func encode(message any) ([]byte, error) {
	line, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	return append(wellFormed(line), '\n'), nil
}
