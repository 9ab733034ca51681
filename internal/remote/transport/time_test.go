package transport

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// pipes is a listener in memory, whose connections buffer nothing.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial(context.Context) (net.Conn, error) {
	here, there := net.Pipe()
	p.conns <- there
	return here, nil
}

// startInBubble serves on pipes, for synctest.
func startInBubble(t *testing.T, change func(*Options)) *testService {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	return startOn(t, p, p.dial, change)
}

func isClosed[T any](c <-chan T) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Close does not wait for a client that does not read.
func TestCloseDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInBubble(t, nil)
		a, c, _ := s.opened(nil)
		a.update("", strings.Repeat("x", 1<<20))
		synctest.Wait()
		before := time.Now()
		a.out.Close("it is over")
		<-a.gone
		require.Equal(t, lingerLimit, time.Since(before))
		_ = c.CloseNow()

		a, c, _ = s.opened(nil)
		a.update("", strings.Repeat("x", 1<<20))
		synctest.Wait()
		before = time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.h.Close(ctx)
		require.Equal(t, time.Second, time.Since(before))
		require.True(t, isClosed(a.gone))
		_ = c.CloseNow()
	})
}

// The body of a refused request is not waited for.
func TestRefusalDoesNotWaitForBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInBubble(t, nil)
		conn, err := s.dial(context.Background())
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "POST /acp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
		require.NoError(t, err)
		before := time.Now()
		said, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.Contains(t, string(said), "426 Upgrade Required")
		require.LessOrEqual(t, time.Since(before), refuseLimit+time.Second)
	})
}

func TestPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInBubble(t, nil)
		var reading sync.WaitGroup
		ctx, cancel := context.WithCancel(context.Background())
		connect := func(pong bool) *agent {
			c, _, err := websocket.Dial(ctx, s.url, &websocket.DialOptions{
				HTTPClient: s.client, OnPingReceived: func(context.Context, []byte) bool { return pong },
			})
			require.NoError(t, err)
			reading.Go(func() { _, _, _ = c.Read(ctx) }) // until the end, whatever it is
			return wait(t, s.joined)
		}
		alive, silent := connect(true), connect(false)
		time.Sleep(2*keepAlive + pongLimit - time.Second) // at first it counts as active
		require.False(t, isClosed(silent.gone))
		time.Sleep(2 * time.Second)
		require.True(t, isClosed(silent.gone))
		time.Sleep(time.Hour)
		require.False(t, isClosed(alive.gone))
		cancel()
		reading.Wait()
		synctest.Wait()
		require.True(t, isClosed(alive.gone))
	})
}

// A network whose client has stopped answering still takes writes while its buffers have room. So the end of a client to which a turn
// streams is detected by its silence; one that only answers pings stays connected.
func TestUnansweredPingEndsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		s := startOn(t, p, p.dial, nil)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var reading sync.WaitGroup
		for answers, lives := range map[bool]bool{true: true, false: false} {
			c, _, err := websocket.Dial(ctx, s.url, &websocket.DialOptions{
				HTTPClient: s.client, OnPingReceived: func(context.Context, []byte) bool { return answers },
			})
			require.NoError(t, err)
			reading.Go(func() {
				for err := error(nil); err == nil; {
					_, _, err = c.Read(ctx) // as a buffer
				}
			})
			a := wait(t, s.joined)
			before := time.Now()
			for !isClosed(a.gone) && time.Since(before) < time.Hour {
				a.update("s", "text")
				time.Sleep(100 * time.Millisecond)
			}
			require.Equal(t, lives, !isClosed(a.gone))
			if !lives {
				require.LessOrEqual(t, time.Since(before), 2*keepAlive+pongLimit+time.Second)
			}
		}
		cancel()
		reading.Wait()
	})
}

// A client that reads a long message slowly stays connected, although its pong is late.
func TestSlowIsNotGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInBubble(t, nil)
		a, c, _ := s.opened(nil)
		a.update("", strings.Repeat("x", 64*pieceSize))
		_, r, err := c.Reader(context.Background())
		require.NoError(t, err)
		piece, total := make([]byte, pieceSize), 0
		for err == nil {
			time.Sleep(5 * time.Second)
			var n int
			n, err = io.ReadFull(r, piece)
			total += n
		}
		require.Greater(t, total, 64*pieceSize, "%v", err)
		require.False(t, isClosed(a.gone))
		a.update("", strings.Repeat("x", pieceSize)) // and it reads nothing of this
		time.Sleep(3 * keepAlive)
		require.True(t, isClosed(a.gone))
		_ = c.CloseNow()
	})
}
