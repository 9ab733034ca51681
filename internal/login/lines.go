package login

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"sync"

	"go.uber.org/zap"

	"droid-acp/internal/visible"
)

// message is a line of JSON-RPC 2.0.
type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *Error
}

// MarshalJSON leaves out what the message does not have.
func (m message) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Method  string          `json:"method,omitempty"`
		Params  json.RawMessage `json:"params,omitempty"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   *Error          `json:"error,omitempty"`
	}{"2.0", m.ID, m.Method, m.Params, m.Result, m.Error})
}

// answers reports whether the message is the response to our request with this id.
func (m message) answers(id string) bool { return m.Method == "" && string(m.ID) == id }

// makeSafe makes all that may be shown of the message safe to show: who is told or asked
// something by droid need not see to that. The id is droid's and stays.
func (m *message) makeSafe() {
	m.Method = visible.Line(m.Method)
	for _, value := range []*json.RawMessage{&m.Params, &m.Result} {
		if *value != nil {
			*value = visible.Values(*value)
		}
	}
	if m.Error != nil {
		m.Error.Message = visible.Text(m.Error.Message)
		if m.Error.Data != nil {
			m.Error.Data = visible.Values(m.Error.Data)
		}
	}
}

// leadsNowhere reports whether the message asks to open what is no address on the web.
func (m message) leadsNowhere() bool {
	var asked struct{ Mode, URL string }
	return m.Method == "elicitation/create" && json.Unmarshal(m.Params, &asked) == nil && asked.Mode == "url" && !IsLink(asked.URL)
}

// errNoOutcome is why a response is no answer.
var errNoOutcome = errors.New("droid answered with neither a result nor an error")

// outcome is the result of a response. Only a response with a result, and without an
// error, is a success.
func (m message) outcome() (json.RawMessage, error) {
	switch {
	case m.Error != nil:
		return nil, m.Error
	case m.Result == nil:
		return nil, errNoOutcome
	}
	return m.Result, nil
}

// maxLine is how long a line of droid's may be, in bytes. Longer ones are dropped.
const maxLine = 256 << 10

// read sends the messages that it reads to the channel, until the input ends or stop is
// closed. What is no message is dropped.
func read(in io.Reader, to chan<- message, stop <-chan struct{}, log *zap.Logger) {
	reader := bufio.NewReaderSize(in, 4<<10)
	for {
		line, err := readLine(reader)
		var m message
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case json.Unmarshal(line, &m) != nil || m.Method == "" && len(m.ID) == 0:
			log.Debug("droid wrote a line that is no message, while it logs in")
		default:
			m.makeSafe()
			select {
			case to <- m:
			case <-stop:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine returns a line, or nothing in place of one that is too long.
func readLine(reader *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		piece, err := reader.ReadSlice('\n')
		if long = long || len(line)+len(piece) > maxLine; long {
			line = nil
		} else {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// sender writes messages, each in one Write.
type sender struct {
	w  io.WriteCloser
	mu *sync.Mutex
}

func newSender(w io.WriteCloser) sender { return sender{w, new(sync.Mutex)} }

// message writes m. A droid that is gone does not get it.
func (s sender) message(m message) {
	line, err := json.Marshal(m)
	if err != nil {
		return // the params or the result are no JSON: there is nothing to send
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.w.Write(append(line, '\n')) // how droid ended is said by its exit
}

// close ends the input of droid. A write that hangs ends, too.
func (s sender) close() { _ = s.w.Close() }

// maxLink is how long an address may be, in bytes.
const maxLink = 4 << 10

// IsLink reports whether a text is an address on the web that may be shown and opened.
func IsLink(text string) bool {
	if len(text) > maxLink || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
