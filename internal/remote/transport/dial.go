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

// Conn is a client's connection by WebSocket. Read and Write may be called by one
// goroutine each, Close by any.
type Conn struct {
	conn *websocket.Conn
	http *http.Client
}

// EndError is that the server has ended the connection, and why.
type EndError struct{ Reason string }

func (e *EndError) Error() string { return "the server ended the connection: " + e.Reason }

// Said is the reason, in the server's words.
func (e *EndError) Said() string { return e.Reason }

// Dial connects to a server's endpoint, as "ws://localhost/acp"; dial is the way there,
// whatever address the URL has. A token may be "". ctx bounds the handshake only. What the
// server answers instead is in the error.
func Dial(ctx context.Context, dial func(context.Context) (net.Conn, error), url, token string) (*Conn, error) {
	way := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	client := &http.Client{Transport: way, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", authorizationFor+token)
	}
	conn, response, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header, Subprotocols: []string{subprotocol}})
	if err != nil {
		client.CloseIdleConnections()
		return nil, dialError(url, response, err)
	}
	conn.SetReadLimit(-1) // the server is ours, and sends what its agent says
	return &Conn{conn: conn, http: client}, nil
}

func dialError(url string, response *http.Response, err error) error {
	if response == nil || response.StatusCode == http.StatusSwitchingProtocols {
		return fmt.Errorf("connecting to %s: %w", url, err)
	}
	said, _ := io.ReadAll(io.LimitReader(response.Body, 1024)) // what it says explains more than why it cannot be read
	return fmt.Errorf("connecting to %s: it answers %s: %s", url, response.Status, strings.TrimSpace(string(said)))
}

// Read returns the server's next message. The error is an *EndError where the server has
// said why it ends the connection. After the end of ctx the connection is of no more use.
func (c *Conn) Read(ctx context.Context) ([]byte, error) {
	for {
		kind, text, err := c.conn.Read(ctx)
		var end websocket.CloseError
		switch {
		case errors.As(err, &end) && end.Reason != "":
			return nil, &EndError{end.Reason}
		case err != nil:
			return nil, fmt.Errorf("reading from the server: %w", err)
		case kind == websocket.MessageText:
			return text, nil
		}
	}
}

// Write sends a message.
func (c *Conn) Write(ctx context.Context, message []byte) error {
	if err := c.conn.Write(ctx, websocket.MessageText, message); err != nil {
		return fmt.Errorf("writing to the server: %w", err)
	}
	return nil
}

// Close ends the connection and waits for the server to have seen it, five seconds at most.
func (c *Conn) Close() error {
	defer c.http.CloseIdleConnections()
	err := c.conn.Close(websocket.StatusNormalClosure, "")
	if errors.Is(err, net.ErrClosed) || websocket.CloseStatus(err) != -1 || errors.Is(err, io.EOF) {
		return nil // the server was first
	}
	return err
}
