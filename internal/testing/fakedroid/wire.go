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

// Version is the factoryProtocolVersion that the fake reports and whose behaviour it imitates.
type Version string

// Versions whose behaviour the fake knows. Others behave as the next lower one.
const (
	Unversioned Version = ""        // droid 0.57.14 (seeds): reports no protocol version
	V099        Version = "1.15.0"  // droid 0.99.0
	V0225       Version = "1.220.0" // droid 0.225.2
)

// modern reports the behaviour of 0.215 and later: reported turn ends, IDs of failed requests, phases, the thinking state, session IDs.
func (v Version) modern() bool { return v.minor() >= 206 }

// minor returns the second number of the version, -1 if there is none.
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

// Fields is a JSON object written by a script.
type Fields map[string]any

// rpcError is the error member of a response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Message is one line of the client.
type Message struct {
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`

	then    Answer // the answer instead of droid's own, see Later
	invalid string // why droid refuses the line, "" if it does not
}

// isResponse reports whether m answers a request of droid.
func (m *Message) isResponse() bool { return m.Type == "response" }

// decodeLine decodes one line as droid does: invalid JSON, and an incomplete envelope, are refused with their own messages
// (02_protocol_errors).
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

// readLines sends the decoded lines of r until r ends or stop is closed. It skips empty lines, as droid does.
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

// envelope adds the constant fields of an outgoing message.
func (d *Droid) envelope(typ string, f Fields) Fields {
	f["jsonrpc"], f["type"], f["factoryApiVersion"] = "2.0", typ, "1.0.0"
	if d.version != Unversioned {
		f["factoryProtocolVersion"] = string(d.version)
	}
	return f
}

// Line writes any text and a newline.
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

// Reply answers a request with result.
func (d *Droid) Reply(id string, result any) error {
	return d.Send(d.envelope("response", Fields{"id": id, "result": result}))
}

// ReplyError answers a request with an error. Versions before 1.206 lose the ID and use only one code (quirk 12).
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

// Error codes of droid.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
	codeNotFound = -32004
)

// withoutSession reports the notifications without params.sessionId in all observed versions.
func withoutSession(kind string) bool {
	switch kind {
	case "tool_call", "settings_updated", "mcp_status_changed", "session_token_usage_changed",
		"permission_resolved", "queued_messages_discarded", "structured_output":
		return true
	}
	return strings.HasPrefix(kind, "hook_")
}

// Trace adds a W3C traceparent with this trace ID to the following notifications, as droid does with one per turn; "" omits it, the
// default.
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

// Death is the error of a script whose droid dies: Run returns it at once, without waiting for the end of the input. A process around Run
// exits with Code.
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

// ExitCode returns the exit code of a process around Run: 0 for no error, the code of a *Death, otherwise 1.
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
