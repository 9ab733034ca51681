//go:build e2e && linux

package e2e

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/transport"
	"droid-acp/internal/testing/modelserver"
)

// remote is a droid-acp serve that listens on a loopback address.
type remote struct{ url, token string }

// startRemote serves a home's agents, including to pages of the origins. An agent whose client has left ends within a second.
func startRemote(t *testing.T, h home, origins ...string) remote {
	t.Helper()
	var args []string
	for _, origin := range origins {
		args = append(args, "--origin", origin)
	}
	return startRemoteWith(t, h, "http", args...)
}

// startRemoteWith is startRemote with other flags of serve, for URLs of this scheme.
func startRemoteWith(t *testing.T, h home, scheme string, flags ...string) remote {
	t.Helper()
	return startRemoteAt(t, h, scheme, freeAddress(t), filepath.Join(t.TempDir(), "token"), flags...)
}

// startRemoteAt is startRemoteWith at an address, with a file of the token.
func startRemoteAt(t *testing.T, h home, scheme, address, file string, flags ...string) remote {
	t.Helper()
	args := append([]string{"serve", "--listen", address, "--token-file", file, "--keep-idle", "1s", "--droid", h.droid}, flags...)
	cmd := exec.Command(programs.Agent, args...)
	cmd.Dir, cmd.Env = h.work, h.env
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.WaitDelay = leavingLimit // for what its agents have open
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
		if t.Failed() {
			t.Logf("the server said:\n%s", said.String())
		}
	})
	for deadline := time.Now().Add(leavingLimit); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			require.NoError(t, c.Close())
			break
		}
		require.True(t, time.Now().Before(deadline), "the server does not listen")
	}
	token, err := os.ReadFile(file)
	require.NoError(t, err)
	return remote{url: scheme + "://" + address + transport.Path, token: strings.TrimSpace(string(token))}
}

// freeAddress returns an unused address.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func (r remote) client(t *testing.T, h home) *libraryClient {
	t.Helper()
	return startClientOn(t, h, recording{}, nil, append(nodeClient("remote.mjs"), r.url, r.token))
}

func TestClientTypeScriptWebSocket(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h = h.keeps(t)
		r := startRemote(t, h)
		stepsOf(t, model, h, func() *libraryClient { return r.client(t, h) })
	})
}

// A client dies during an answer. The next one loads the session during the turn, and gets all of it once; so does one that comes after the
// end.
func TestClientTypeScriptComesBack(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("remember", modelserver.Step{Text: longText(), Delay: 20 * time.Millisecond})
		h = h.keeps(t)
		r := startRemote(t, h)
		first := r.client(t, h)
		id := first.open("")
		first.await("agent", first.begin("remember the word", ""))
		first.kill()
		second := r.client(t, h)
		require.Equal(t, id, second.open(id))
		require.Equal(t, longText(), second.awaitText("TANGERINE."))
		second.kill()
		third := r.client(t, h)
		require.Equal(t, id, third.open(id))
		require.Equal(t, longText(), third.awaitText("TANGERINE."))
	})
}

// A page does one turn by WebSocket, and another page, of a forbidden origin, gets nothing. Both have the token. The test is skipped
// without Chromium (Debian: apt-get install chromium).
func TestPageInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium in PATH")
	}
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("remember", modelserver.Step{Text: longText()})
		page, other := startPages(t), startPages(t)
		h = h.keeps(t)
		r := startRemote(t, h, page.origin)
		told := page.visit(t, browser, r, h)
		require.Contains(t, told, "acp end_turn: ")
		require.Contains(t, told, longText())
		require.Equal(t, "refused", other.visit(t, browser, r, h))
	})
}

// pages is an origin with the page in testdata/pages.
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

// visit opens the page in a browser and returns its first message.
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
