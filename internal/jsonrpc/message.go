package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"droid-acp/internal/text/rawjson"
)

// frame is a decoded JSON-RPC message. Its members must have the types of the specification.
type frame struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  rawjson.Value   `json:"params"` // aliases the line
	Result  rawjson.Value   `json:"result"` // aliases the line
	Error   *Error          `json:"error"`
}

// decode decodes a message, or returns the error to respond with.
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

// check rejects what is not a message or is ambiguous.
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

// answerID returns the ID to respond with: the message's own if JSON-RPC allows it, else nil. A malformed ID cannot be repeated in a
// well-formed response, and two of them could become equal.
func (f *frame) answerID() json.RawMessage {
	if len(f.ID) == 0 || !strings.ContainsRune(`"-0123456789`, rune(f.ID[0])) || !isWellFormed(f.ID) {
		return nil
	}
	return f.ID
}

// IDKey returns a map key for an ID. It is the same however a string is escaped, and differs between a string and a number.
func IDKey(id json.RawMessage) string {
	var text *string // nil of null
	if json.Unmarshal(id, &text) == nil && text != nil {
		return `"` + *text
	}
	return string(bytes.TrimSpace(id))
}

// EncodeCall returns the line, with its newline, of a request, or of a notification if id is nil.
func EncodeCall(id json.RawMessage, method string, params any) ([]byte, error) {
	return encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Method  string          `json:"method"`
		Params  any             `json:"params,omitempty"`
	}{"2.0", id, method, params})
}

// EncodeResult returns the line of a response, with its newline.
func EncodeResult(id json.RawMessage, result any) ([]byte, error) {
	return encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, result})
}

// EncodeError returns the line of an error response, with its newline. An unknown ID is nil and encoded as null. Data that cannot be
// encoded is omitted.
func EncodeError(id json.RawMessage, e *Error) []byte {
	response := struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   Error           `json:"error"`
	}{"2.0", id, *e}
	line, err := encode(response)
	if err != nil {
		response.Error.Data = nil
		line, _ = encode(response) // IDs and strings always encode
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
