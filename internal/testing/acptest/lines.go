package acptest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Message is any line of JSON-RPC.
type Message struct {
	Raw    string          `json:"-"`
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// Error is the error of a response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data) }

// Read gives take each line of in, to its end, and what is wrong with those that are no messages: io.ErrUnexpectedEOF
// with one that breaks off.
func Read(in io.Reader, take func(m Message, err error)) {
	lines := bufio.NewReader(in)
	for {
		raw, end := lines.ReadString('\n')
		switch {
		case end == nil:
			take(readMessage(strings.TrimSuffix(raw, "\n")))
		case raw != "":
			take(Message{Raw: raw}, io.ErrUnexpectedEOF)
		}
		if end != nil {
			return
		}
	}
}

func readMessage(raw string) (Message, error) {
	var m struct {
		Version string `json:"jsonrpc"`
		Message
	}
	err := json.Unmarshal([]byte(raw), &m)
	m.Raw = raw
	if err == nil && (m.Version != "2.0" || m.Method == "" && m.ID == nil) {
		err = errors.New("no message of JSON-RPC 2.0")
	}
	return m.Message, err
}

// Peer is the other end of a conversation in lines, which a test plays line by line.
type Peer struct {
	t   testing.TB
	in  *bufio.Reader
	out io.Writer
}

// NewPeer is a Peer that hears in and says to out.
func NewPeer(t testing.TB, in io.Reader, out io.Writer) *Peer {
	return &Peer{t, bufio.NewReaderSize(in, 64<<10), out}
}

// Say says a line, made as by fmt.Sprintf where there is something to put into it.
func (p *Peer) Say(line string, args ...any) {
	p.t.Helper()
	if len(args) > 0 {
		line = fmt.Sprintf(line, args...)
	}
	_, err := io.WriteString(p.out, line+"\n")
	require.NoError(p.t, err)
}

// Line hears a line.
func (p *Peer) Line() string {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	require.NoError(p.t, err)
	return strings.TrimSuffix(line, "\n")
}

// Hear hears a message.
func (p *Peer) Hear() Message {
	p.t.Helper()
	m, err := readMessage(p.Line())
	require.NoError(p.t, err, m.Raw)
	return m
}

// Ends hears that nothing more is said.
func (p *Peer) Ends() {
	p.t.Helper()
	_, err := p.in.ReadByte()
	require.ErrorIs(p.t, err, io.EOF)
}

// Rest reads what is still said, and forgets it.
func (p *Peer) Rest() { _, _ = io.Copy(io.Discard, p.in) }
