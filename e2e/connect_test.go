//go:build e2e && linux

package e2e

import (
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"droid-acp/internal/testing/modelserver"
)

// network passes connections on to an address, until they are cut.
type network struct {
	listener net.Listener
	work     sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
}

func startNetwork(t *testing.T, address string) *network {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n := &network{listener: listener}
	n.work.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", address)
			if err != nil {
				_ = near.Close()
				continue
			}
			n.mu.Lock()
			n.conns = append(n.conns, near, far)
			n.mu.Unlock()
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				n.work.Go(func() {
					_, _ = io.Copy(way[0], way[1]) // until it is cut, or one end closes
					_ = way[0].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		n.cut()
		n.work.Wait()
	})
	return n
}

// cut ends all connections.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		_ = c.Close()
	}
	n.conns = nil
}

// The link of an editor behind connect is cut several times during an answer. The editor sees all of the answer once, and its prompt ends
// once; the model was asked once.
func TestConnectOverACutLink(t *testing.T) {
	notKept(t, "it has a server of its own")
	cert, key := newCertificate(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("remember", modelserver.Step{Text: longText(), Delay: 20 * time.Millisecond})
		h = h.keeps(t)
		r := startRemoteWith(t, h, "wss", "--tls-cert", cert, "--tls-key", key)
		at, err := url.Parse(r.url)
		require.NoError(t, err)
		link := startNetwork(t, at.Host)
		token := filepath.Join(t.TempDir(), "token")
		require.NoError(t, os.WriteFile(token, []byte(r.token), 0o600))
		cmd := exec.Command(programs.Agent, "connect", "--token-file", token, "--ca-file", cert, "wss://"+link.listener.Addr().String())
		cmd.Env, cmd.Dir = h.env, h.work
		c := startCommand(t, h, cmd, func(stdout io.Reader) io.Reader { return stdout })
		s := c.open(h)
		turn := s.prompt("remember the word")
		const cuts = 3
		said := func() string {
			texts, _ := c.agentSaid(0)
			return strings.Join(texts, "")
		}
		for n := range cuts {
			require.Eventually(t, func() bool { return len(said()) > (n+1)*len(longText())/5 }, turnLimit, 10*time.Millisecond)
			link.cut()
		}
		end := turn.end(turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, "end_turn", end.Stop)
		require.Equal(t, longText(), said())
		require.Equal(t, 1, asksOf(model))
		require.Equal(t, "still", s.nextPrompt(model))
		require.NoError(t, c.stdin.Close())
		<-c.exited
		require.Equal(t, cuts, strings.Count(c.stderr.String(), "the link to the server was cut"))
		require.Equal(t, cuts, strings.Count(c.stderr.String(), "the link to the server is back"))
	})
}

// The far side of a via is killed several times during an answer; its agent is kept. The editor sees all of the answer once.
func TestViaOverACutLink(t *testing.T) {
	notKept(t, "it has a server of its own")
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("remember", modelserver.Step{Text: longText(), Delay: 20 * time.Millisecond})
		h = h.keeps(t)
		pid := filepath.Join(t.TempDir(), "pid")
		cmd := exec.Command(programs.Agent, "via", "--", "sh", "-c", `echo $$ >"$1.new" && mv "$1.new" "$1" && exec "$0" --keep --droid "$2"`, programs.Agent, pid, h.droid)
		cmd.Env, cmd.Dir = h.env, h.work
		c := startCommand(t, h, cmd, func(stdout io.Reader) io.Reader { return stdout })
		s := c.open(h)
		turn := s.prompt("remember the word")
		said := func() string {
			texts, _ := c.agentSaid(0)
			return strings.Join(texts, "")
		}
		const cuts = 3
		for n := range cuts {
			require.Eventually(t, func() bool { return len(said()) > (n+1)*len(longText())/5 }, turnLimit, 10*time.Millisecond)
			text, err := os.ReadFile(pid)
			require.NoError(t, err)
			far, err := strconv.Atoi(strings.TrimSpace(string(text)))
			require.NoError(t, err)
			require.NoError(t, unix.Kill(far, unix.SIGKILL))
		}
		end := turn.end(turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, longText(), said())
		require.Equal(t, 1, asksOf(model))
		require.Equal(t, "still", s.nextPrompt(model))
		require.NoError(t, c.stdin.Close())
		<-c.exited
		require.Equal(t, cuts, strings.Count(c.stderr.String(), "the link to the server is back"), c.stderr)
		h.serverCommand(t, "stop")
	})
}
