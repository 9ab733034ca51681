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

// Message is any JSON-RPC line.
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

// Read calls take with each line of in, and an error for lines that are not messages: io.ErrUnexpectedEOF for one that is incomplete.
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

// Peer is one end of a line-based conversation, played by a test.
type Peer struct {
	t   testing.TB
	in  *bufio.Reader
	out io.Writer
}

// NewPeer makes a Peer that reads in and writes to out.
func NewPeer(t testing.TB, in io.Reader, out io.Writer) *Peer {
	return &Peer{t, bufio.NewReaderSize(in, 64<<10), out}
}

// Say writes a line, formatted as by fmt.Sprintf if there are arguments.
func (p *Peer) Say(line string, args ...any) {
	p.t.Helper()
	if len(args) > 0 {
		line = fmt.Sprintf(line, args...)
	}
	_, err := io.WriteString(p.out, line+"\n")
	require.NoError(p.t, err)
}

// Line reads a line.
func (p *Peer) Line() string {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	require.NoError(p.t, err)
	return strings.TrimSuffix(line, "\n")
}

// Hear reads a message.
func (p *Peer) Hear() Message {
	p.t.Helper()
	m, err := readMessage(p.Line())
	require.NoError(p.t, err, m.Raw)
	return m
}

// Ends checks that nothing more is written.
func (p *Peer) Ends() {
	p.t.Helper()
	_, err := p.in.ReadByte()
	require.ErrorIs(p.t, err, io.EOF)
}

// Rest reads and discards the remaining lines.
func (p *Peer) Rest() { _, _ = io.Copy(io.Discard, p.in) }
