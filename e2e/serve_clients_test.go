//go:build e2e && linux

package e2e

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/modelserver"
	"droid-acp/internal/rawjson"
	serving "droid-acp/internal/serve"
	"droid-acp/internal/transport"
)

// remote is a server of the remote transport, which has one agent for each connection.
type remote struct {
	url, token string
	wire       recording
}

// startRemote serves a home's agents on a loopback address, to pages of the origins, too.
func startRemote(t *testing.T, h home, origins ...string) remote {
	t.Helper()
	wire, env, agent := newRecording(t)
	var children sync.WaitGroup
	handler := transport.New(transport.Options{
		Token: "remote-token", Origins: origins, Hosts: []string{"127.0.0.1"},
		Join: func(out serving.Outlet, _ serving.ClientOptions) transport.Receiver {
			cmd := exec.Command(agent, "--droid", h.droid)
			cmd.Dir, cmd.Env = h.work, slices.Concat(h.env, env)
			return startChild(cmd, out, &children)
		},
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := transport.Server(handler, nil)
	children.Go(func() { _ = server.Serve(listener) }) // until it is closed
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		handler.Close(ctx)
		_ = server.Close()
		children.Wait()
	})
	return remote{url: "http://" + listener.Addr().String() + transport.Path, token: "remote-token", wire: wire}
}

// childAgent is the agent of one connection.
type childAgent struct {
	out   serving.Outlet
	stdin io.WriteCloser

	mu       sync.Mutex
	sessions map[string]string // of the client's requests, by their ids
}

func startChild(cmd *exec.Cmd, out serving.Outlet, children *sync.WaitGroup) transport.Receiver {
	c := &childAgent{out: out, sessions: make(map[string]string)}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		c.stdin, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		panic(err) // net/http shows it, and the client fails
	}
	children.Go(func() {
		lines := jsonrpc.NewLines(stdout, 64<<20, func([]byte) {})
		for {
			line, err := lines.Next()
			if err != nil {
				break
			}
			line = bytes.Clone(line)
			out.Send(line, c.sessionOf(line))
		}
		_ = cmd.Wait() // the client sees how it ended
		out.Close("the agent has ended")
	})
	return c
}

func (c *childAgent) sessionOf(line []byte) string {
	head, _ := jsonrpc.ReadHead(line)
	if head.Method != "" {
		return sessionIn(line, head)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[jsonrpc.IDKey(head.ID)]
}

func sessionIn(line []byte, head jsonrpc.Head) string {
	if head.Params == 0 {
		return ""
	}
	fields, _ := rawjson.Fields(line[head.Params:rawjson.SkipValue(line, head.Params)])
	for name, value, more := fields.Next(); more; name, value, more = fields.Next() {
		if string(name) == "sessionId" {
			return rawjson.Unquote(value)
		}
	}
	return ""
}

func (c *childAgent) Receive(message []byte) {
	head, _ := jsonrpc.ReadHead(message)
	if session := sessionIn(message, head); head.IsRequest() && session != "" {
		c.mu.Lock()
		c.sessions[jsonrpc.IDKey(head.ID)] = session
		c.mu.Unlock()
	}
	_, _ = c.stdin.Write(append(bytes.Clone(message), '\n')) // one that has ended closes the connection
}

func (c *childAgent) Gone() { _ = c.stdin.Close() }

func (r remote) client(t *testing.T, h home, kind string) *libraryClient {
	t.Helper()
	return startClientOn(t, h, r.wire, nil, append(nodeClient("remote.mjs"), kind, r.url, r.token))
}

func TestClientTypeScriptWebSocket(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		r := startRemote(t, h)
		stepsOf(t, model, h, func() *libraryClient { return r.client(t, h, "websocket") })
	})
}

func TestClientTypeScriptHTTP(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		r := startRemote(t, h)
		stepsOf(t, model, h, func() *libraryClient { return r.client(t, h, "http") })
	})
}

// TestPageInABrowser has a page do one turn by WebSocket, and another page, of an origin
// that may not, told nothing. Both have the token. It is skipped where there is no Chromium
// (Debian: apt-get install chromium).
func TestPageInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium in PATH")
	}
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("remember", modelserver.Step{Text: longText()})
		page, other := startPages(t), startPages(t)
		r := startRemote(t, h, page.origin)
		told := page.visit(t, browser, r, h)
		require.Contains(t, told, "acp end_turn: ")
		require.Contains(t, told, longText())
		require.Equal(t, "refused", other.visit(t, browser, r, h))
	})
}

// pages is an origin with the page of testdata/pages.
type pages struct {
	origin string
	told   chan string
}

func startPages(t *testing.T) pages {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := pages{origin: "http://" + listener.Addr().String(), told: make(chan string, 10)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join("testdata", "pages", "remote.html"))
	})
	mux.HandleFunc("POST /told", func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body) // what lacks shows
		p.told <- string(text)
	})
	server := &http.Server{Handler: mux}
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(listener) }) // until it is closed
	t.Cleanup(func() {
		_ = server.Close()
		work.Wait()
	})
	return p
}

// visit opens the page in a browser and returns what it tells first.
func (p pages) visit(t *testing.T, browser string, r remote, h home) string {
	t.Helper()
	address := p.origin + "/#" + url.PathEscape(strings.Join([]string{strings.Replace(r.url, "http", "ws", 1), r.token, h.work}, ","))
	cmd := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(), "--remote-debugging-port=0", address)
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	select {
	case told := <-p.told:
		return told
	case <-time.After(2 * turnLimit):
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		require.Fail(t, "the page tells nothing", said.String())
		return ""
	}
}
