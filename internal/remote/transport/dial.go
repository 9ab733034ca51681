package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// Conn is a client's WebSocket connection. Read and Write may be called by one goroutine each, Close by any.
type Conn struct {
	conn    *websocket.Conn
	http    *http.Client
	watched *watch // nil if the system reports the end of the connection
}

// EndError means that the server has ended the connection, and says why.
type EndError struct{ Reason string }

func (e *EndError) Error() string { return "the server ended the connection: " + e.Reason }

// Said returns the reason, in the server's words.
func (e *EndError) Said() string { return e.Reason }

// Dial connects to a server's endpoint, such as "ws://localhost/acp". dial makes the connection, whatever address the URL has. The token
// may be "". ctx bounds the handshake only. If the server refuses, the error has its answer.
func Dial(ctx context.Context, dial func(context.Context) (net.Conn, error), url, token string) (*Conn, error) {
	way := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	conn, response, err := handshake(ctx, way, url, token)
	if err != nil {
		return nil, dialError(url, response, err)
	}
	return conn, nil
}

// handshake opens a WebSocket. If the server refuses, the response is its answer.
func handshake(ctx context.Context, way *http.Transport, url, token string) (*Conn, *http.Response, error) {
	client := &http.Client{Transport: way, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", authorizationFor+token)
	}
	conn, response, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header, Subprotocols: []string{subprotocol}})
	if err != nil {
		client.CloseIdleConnections()
		return nil, response, err
	}
	conn.SetReadLimit(-1) // the server is ours, and sends what its agent writes
	return &Conn{conn: conn, http: client}, nil, nil
}

func dialError(url string, response *http.Response, err error) error {
	if response == nil || response.StatusCode == http.StatusSwitchingProtocols {
		return fmt.Errorf("connecting to %s: %w", url, err)
	}
	said, _ := io.ReadAll(io.LimitReader(response.Body, 1024)) // what can be read explains more than the error
	return fmt.Errorf("connecting to %s: it answers %s: %s", url, response.Status, strings.TrimSpace(string(said)))
}

// Read returns the server's next message. The error is an *EndError if the server has ended the connection with a reason, a
// *SilentError if nothing arrives from it any more. After ctx is
// done, the connection cannot be used any more.
func (c *Conn) Read(ctx context.Context) ([]byte, error) {
	if c.watched != nil {
		c.watched.reading.Store(true)
		defer c.watched.reading.Store(false)
	}
	for {
		kind, text, err := c.conn.Read(ctx)
		var end websocket.CloseError
		switch {
		case errors.As(err, &end) && end.Reason != "":
			return nil, &EndError{end.Reason}
		case err != nil && c.watched != nil && c.watched.silent.Load():
			return nil, &SilentError{}
		case err != nil:
			return nil, fmt.Errorf("reading from the server: %w", err)
		case kind == websocket.MessageText:
			return text, nil
		}
	}
}

// Write sends a message.
func (c *Conn) Write(ctx context.Context, message []byte) error {
	if c.watched != nil {
		c.watched.writing.Add(1)
		defer c.watched.writing.Add(-1)
	}
	if err := c.conn.Write(ctx, websocket.MessageText, message); err != nil {
		return fmt.Errorf("writing to the server: %w", err)
	}
	return nil
}

// Close ends the connection, and waits up to five seconds until the server has seen it.
func (c *Conn) Close() error {
	defer c.http.CloseIdleConnections()
	if c.watched != nil {
		defer c.watched.stop()
	}
	err := c.conn.Close(websocket.StatusNormalClosure, "")
	if errors.Is(err, net.ErrClosed) || websocket.CloseStatus(err) != -1 || errors.Is(err, io.EOF) {
		return nil // the server was first
	}
	return err
}
