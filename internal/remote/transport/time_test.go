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

// pipes is a listener in memory, whose connections take no byte that is not read.
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

// startInBubble serves by pipes, for synctest.
func startInBubble(t *testing.T, change func(*Options)) *service {
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

func TestConnectionWithoutItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInBubble(t, nil)
		a, connection := s.connect()
		time.Sleep(aloneLimit - time.Second)
		stream := s.open(200, connection)
		var reading sync.WaitGroup
		reading.Go(func() { _, _ = io.Copy(io.Discard, stream.response.Body) }) // to its end, whichever
		time.Sleep(time.Hour)
		require.False(t, isClosed(a.gone))
		stream.cancel()
		reading.Wait()
		session := s.open(200, connection, "Acp-Session-Id: s1")
		synctest.Wait()
		time.Sleep(aloneLimit - time.Second) // it is there, and only lacks a stream
		require.False(t, isClosed(a.gone))
		time.Sleep(2 * time.Second)
		require.True(t, isClosed(a.gone))
		for line, err := "\n", error(nil); err == nil; line, err = session.in.ReadString('\n') {
			require.Contains(t, ":\n", line, "comments, and its end")
		}

		a, _ = s.connect()
		time.Sleep(aloneLimit + time.Second)
		require.True(t, isClosed(a.gone), "it never opened a stream")
	})
}

// A client whose streams all break off has ended, unless it comes back soon or says something.
func TestClientThatIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInBubble(t, nil)
		a, connection := s.connect()
		for _, comesBack := range []func(){
			func() {},
			func() { require.Equal(t, 202, s.post(`{"jsonrpc":"2.0","method":"x"}`, connection).status) },
		} {
			own, session := s.open(200, connection), s.open(200, connection, "Acp-Session-Id: s1")
			synctest.Wait()
			session.close()
			own.close()
			synctest.Wait()
			time.Sleep(leftLimit - time.Second)
			require.False(t, isClosed(a.gone))
			comesBack()
		}
		time.Sleep(leftLimit + time.Second)
		require.False(t, isClosed(a.gone), "it said something")
		s.open(200, connection).close()
		synctest.Wait()
		time.Sleep(leftLimit + time.Second)
		require.True(t, isClosed(a.gone))
	})
}

func TestCommentsKeepAStreamAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInBubble(t, nil)
		_, connection := s.connect()
		stream := s.open(200, connection)
		before := time.Now()
		line, err := stream.in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, ":\n", line)
		require.Equal(t, keepAlive, time.Since(before))
	})
}

// The older reader does not take what it is sent: a new one gets its place, and all that
// the older one may not have had.
func TestDeadReaderIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInBubble(t, nil)
		a, connection := s.connect()
		old := s.open(200, connection)
		large := strings.Repeat("x", 1<<20)
		a.update("", large)
		synctest.Wait()
		before := time.Now()
		next := s.open(200, connection)
		require.Equal(t, probeLimit, time.Since(before))
		require.Equal(t, []string{large}, next.texts(1))
		old.close()
	})
}

// A client that takes nothing at all for writeLimit has gone.
func TestStreamThatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInBubble(t, nil)
		a, connection := s.connect()
		s.open(200, connection)
		a.update("", strings.Repeat("x", 1<<20))
		time.Sleep(writeLimit + aloneLimit - time.Second)
		require.False(t, isClosed(a.gone))
		time.Sleep(2 * time.Second)
		require.True(t, isClosed(a.gone))
	})
}

// An end does not wait for one who does not read.
func TestCloseDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInBubble(t, nil)
		a, connection := s.connect()
		s.open(200, connection)
		a.update("", strings.Repeat("x", 1<<20))
		synctest.Wait()
		before := time.Now()
		a.out.Close("it is over")
		<-a.gone
		require.Equal(t, lingerLimit, time.Since(before))

		a, connection = s.connect()
		s.open(200, connection)
		a.update("", strings.Repeat("x", 1<<20))
		b, c, _ := s.opened(nil)
		b.update("", strings.Repeat("x", 1<<20))
		synctest.Wait()
		before = time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.h.Close(ctx)
		require.Equal(t, time.Second, time.Since(before))
		require.True(t, isClosed(a.gone))
		require.True(t, isClosed(b.gone))
		_ = c.CloseNow()
	})
}

func TestBodyThatDoesNotCome(t *testing.T) {
	for _, row := range []struct {
		name, kind, answer string
		limit              time.Duration
	}{
		{"a message", "application/json", "400 Bad Request", readLimit + refuseLimit},
		{"refused before", "text/plain", "415 Unsupported Media Type", refuseLimit},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startInBubble(t, nil)
				conn, err := s.dial(context.Background())
				require.NoError(t, err)
				defer conn.Close()
				_, err = io.WriteString(conn, "POST /acp HTTP/1.1\r\nHost: x\r\nContent-Type: "+row.kind+"\r\nContent-Length: 10\r\n\r\n{")
				require.NoError(t, err)
				before := time.Now()
				said, err := io.ReadAll(conn)
				require.NoError(t, err)
				require.Contains(t, string(said), row.answer)
				require.LessOrEqual(t, time.Since(before), row.limit+time.Second)
			})
		})
	}
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
			reading.Go(func() { _, _, _ = c.Read(ctx) }) // to its end, whichever
			return wait(t, s.joined)
		}
		alive, silent := connect(true), connect(false)
		time.Sleep(2*keepAlive + pongLimit - time.Second) // at first it counts as heard
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

// A client that takes a long message slowly lives, although its pong is late.
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
		a.update("", strings.Repeat("x", pieceSize)) // and it takes nothing of this
		time.Sleep(3 * keepAlive)
		require.True(t, isClosed(a.gone))
		_ = c.CloseNow()
	})
}
