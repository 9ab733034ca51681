package fakedroid

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
)

// Version is the factoryProtocolVersion that the fake claims and whose habits
// it imitates.
type Version string

// Versions whose habits the fake knows. Others fall to the next lower one.
const (
	Unversioned Version = ""        // droid 0.57.14 (seeds): tells no protocol version
	V099        Version = "1.15.0"  // droid 0.99.0
	V0225       Version = "1.220.0" // droid 0.225.2
)

// modern tells the habits of 0.215 and later: turn ends are told, ids of
// failed requests are kept, phases, thinking state, session ids.
func (v Version) modern() bool { return v.minor() >= 206 }

// minor is the second number of the version, -1 when there is none.
func (v Version) minor() int {
	parts := strings.Split(string(v), ".")
	if len(parts) < 2 {
		return -1
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return -1
	}
	return n
}

// Fields is a JSON object that a script writes.
type Fields map[string]any

// rpcError is the error member of a response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Message is one line that the client wrote.
type Message struct {
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`

	then    Answer // that it gets in place of droid's own, see Later
	invalid string // why droid refuses the line, "" when it does not
}

// isResponse tells whether m answers a request of droid.
func (m *Message) isResponse() bool { return m.Type == "response" }

// decodeLine reads one line as droid does: what is no JSON, and what is no
// complete envelope, is refused with an own message (02_protocol_errors).
func decodeLine(line []byte) *Message {
	if !json.Valid(line) {
		return &Message{invalid: "Invalid JSON"}
	}
	var envelope struct {
		Message
		JSONRPC    string          `json:"jsonrpc"`
		APIVersion string          `json:"factoryApiVersion"`
		ID         json.RawMessage `json:"id"`
	}
	refused := &Message{invalid: "Invalid JSON-RPC message"}
	if err := json.Unmarshal(line, &envelope); err != nil {
		return refused
	}
	m := envelope.Message
	if envelope.JSONRPC != "2.0" || envelope.APIVersion != "1.0.0" {
		return refused
	}
	switch m.Type {
	case "request", "response":
		if json.Unmarshal(envelope.ID, &m.ID) != nil || m.ID == "" {
			return refused
		}
	case "notification":
	default:
		return refused
	}
	return &m
}

// readLines sends the decoded lines of r until r ends or stop is closed. Empty
// lines are skipped as droid skips them.
func readLines(r io.Reader, inbox chan<- *Message, stop <-chan struct{}) {
	defer close(inbox)
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := br.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			select {
			case inbox <- decodeLine(line):
			case <-stop:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// envelope adds the constant members of an outgoing message.
func (d *Droid) envelope(typ string, f Fields) Fields {
	f["jsonrpc"], f["type"], f["factoryApiVersion"] = "2.0", typ, "1.0.0"
	if d.version != Unversioned {
		f["factoryProtocolVersion"] = string(d.version)
	}
	return f
}

// Line writes text and a newline, whatever it is.
func (d *Droid) Line(text []byte) error {
	if d.writeErr != nil {
		return d.writeErr
	}
	line := append(append(make([]byte, 0, len(text)+1), text...), '\n')
	if _, err := d.out.Write(line); err != nil {
		d.writeErr = fmt.Errorf("writing a line: %w", err)
	}
	return d.writeErr
}

// Send writes v as one line of JSON.
func (d *Droid) Send(v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encoding a line: %w", err)
	}
	return d.Line(bytes.TrimRight(buf.Bytes(), "\n"))
}

// Reply answers the request id with result.
func (d *Droid) Reply(id string, result any) error {
	return d.Send(d.envelope("response", Fields{"id": id, "result": result}))
}

// ReplyError answers the request id with an error. Versions before 1.206 lose
// the id and know one code only (quirk 12).
func (d *Droid) ReplyError(id string, code int, message string) error {
	var sent any = id
	if id == "" || (!d.version.modern() && (code == codeParams || code == codeMethod)) {
		sent = nil
	}
	if sent == nil && id != "" {
		code, message = codeInvalid, "Invalid request format"
	}
	return d.Send(d.envelope("response", Fields{"id": sent, "error": rpcError{code, message}}))
}

// Error codes that droid answers with.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
	codeNotFound = -32004
)

// withoutSession are the notifications that carry no params.sessionId in any
// version observed.
func withoutSession(kind string) bool {
	switch kind {
	case "tool_call", "settings_updated", "mcp_status_changed", "session_token_usage_changed",
		"permission_resolved", "queued_messages_discarded", "structured_output":
		return true
	}
	return strings.HasPrefix(kind, "hook_")
}

// Trace puts a W3C traceparent with this trace id on the notifications from here
// on, as droid does with one for each turn; "" leaves it out, the default.
func (d *Droid) Trace(id string) { d.trace = id }

// Notify writes a session notification of this kind.
func (d *Droid) Notify(kind string, f Fields) error {
	notification := Fields{"type": kind}
	maps.Copy(notification, f)
	params := Fields{"notification": notification}
	if d.version.modern() && d.session != "" && !withoutSession(kind) {
		params["sessionId"] = d.session
	}
	line := d.envelope("notification", Fields{"method": "droid.session_notification", "params": params})
	if d.trace != "" {
		line["_meta"] = Fields{"traceparent": "00-" + d.trace + "-0000000000000001-01"}
	}
	return d.Send(line)
}

// Request writes a request to the client and returns its id.
func (d *Droid) Request(method string, params Fields) (string, error) {
	id := d.newID()
	return id, d.Send(d.envelope("request", Fields{"id": id, "method": method, "params": params}))
}

// Death is the error of a script whose droid dies: Run returns it at once,
// without waiting for the end of the input. A process around Run exits with
// Code.
type Death struct{ Code int }

// Error names the exit code.
func (e *Death) Error() string { return "droid dies with exit code " + strconv.Itoa(e.Code) }

// Die writes stderr and returns the *Death that the script must return.
func (d *Droid) Die(code int, stderr string) error {
	if err := d.Stderr(stderr); err != nil {
		return err
	}
	return &Death{Code: code}
}

// Stderr writes text to droid's stderr.
func (d *Droid) Stderr(text string) error {
	if _, err := io.WriteString(d.stderr, text); err != nil {
		return fmt.Errorf("writing stderr: %w", err)
	}
	return nil
}

// ExitCode is the exit code of a process around Run: 0 for no error, the code
// of a *Death, else 1.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	var death *Death
	if errors.As(err, &death) {
		return death.Code
	}
	return 1
}
