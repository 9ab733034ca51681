package droid

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// peer is the droid end of an in-memory client. Its calls run on the test's goroutine, so the client's calls must run in another.
type peer struct {
	t       testing.TB
	version string // factoryProtocolVersion of what it writes, "" for none
	in      *bufio.Reader
	stdin   *io.PipeReader
	out     *io.PipeWriter
}

// message is a message read by a peer.
type message struct {
	JSONRPC, Type, FactoryAPIVersion, ID, Method string
	Params, Result                               json.RawMessage
	Error                                        *stream.RPCError
}

// newPeer returns a client and its droid. Both end with the test.
func newPeer(t testing.TB, version string) (*Client, *peer) {
	return newPeerOf(t, version, func(stdout io.Reader, stdin io.WriteCloser) *Client {
		return newClient(stdout, stdin, nil, nil, nil, shortBounds)
	})
}

// newPeerOf is newPeer for a client that is made so.
func newPeerOf(t testing.TB, version string, client func(stdout io.Reader, stdin io.WriteCloser) *Client) (*Client, *peer) {
	t.Helper()
	stdinR, stdinW := io.Pipe()
	stdoutR, stdoutW := io.Pipe()
	c := client(stdoutR, stdinW)
	t.Cleanup(func() {
		stdoutW.Close()
		stdinR.Close()
		c.Kill()
		<-c.Exited()
	})
	return c, &peer{t, version, bufio.NewReader(stdinR), stdinR, stdoutW}
}

// next reads the client's next message.
func (p *peer) next() message {
	p.t.Helper()
	data, err := p.in.ReadBytes('\n')
	require.NoError(p.t, err)
	var m message
	require.NoError(p.t, json.Unmarshal(data, &m))
	require.Equal(p.t, "2.0", m.JSONRPC)
	require.Equal(p.t, "1.0.0", m.FactoryAPIVersion)
	return m
}

// expect reads the client's next message, a request of that method.
func (p *peer) expect(method string) message {
	p.t.Helper()
	m := p.next()
	require.Equal(p.t, stream.TypeRequest, m.Type)
	require.Equal(p.t, method, m.Method)
	require.NotEmpty(p.t, m.ID)
	return m
}

// send writes a line of these fields.
func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	version := ""
	if p.version != "" {
		version = fmt.Sprintf(`"factoryProtocolVersion":%q,`, p.version)
	}
	var line bytes.Buffer
	require.NoError(p.t, json.Compact(&line, fmt.Appendf(nil, `{"jsonrpc":"2.0","factoryApiVersion":"1.0.0",%s%s}`, version, fmt.Sprintf(format, args...))))
	line.WriteByte('\n')
	_, err := p.out.Write(line.Bytes())
	require.NoError(p.t, err)
}

func (p *peer) reply(id, result string) { p.send(`"type":"response","id":%q,"result":%s`, id, result) }

func (p *peer) refuse(id string, code int, text string) {
	p.send(`"type":"response","id":%s,"error":{"code":%d,"message":%q}`, id, code, text)
}

func (p *peer) notify(body string) {
	p.send(`"type":"notification","method":"droid.session_notification","params":{"notification":%s}`, body)
}

// async runs f in a goroutine and returns its error.
func async(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}
