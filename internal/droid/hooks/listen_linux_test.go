package hooks

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const nobody = 65534

// asOtherUser runs f on a thread that belongs to another user.
func asOtherUser(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	become := func(uid int) {
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)) // this thread alone
		if errno != 0 {
			t.Errorf("setresuid: %v", errno)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never given back
		become(nobody)
		f()
		become(0)
	}()
	<-done
}

func TestAnotherUserIsRefused(t *testing.T) {
	asked := 0
	l := start(t, patience, func(context.Context, Request) Answer { asked++; return Answer{Context: "secret"} })
	var got []byte
	var err error
	asOtherUser(t, func() {
		var conn net.Conn
		if conn, err = net.Dial("unix", l.address()); err != nil {
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = conn.Write([]byte(`{"event":"E","tool":"T"}`)) // it may be closed already
		got, _ = io.ReadAll(conn)
	})
	require.NoError(t, err)
	require.Empty(t, got)
	require.NotEmpty(t, program(l.address(), stdin("E", "T", "{}")))
	require.Equal(t, 1, asked, "the same request by this user is answered")
}

// Another user's process at the agent's address gets nothing.
func TestAgentOfAnotherUser(t *testing.T) {
	var socket *net.UnixListener
	var err error
	asOtherUser(t, func() { socket, _, err = listen() })
	require.NoError(t, err)
	defer socket.Close()
	heard := make(chan []byte, 1)
	go func() {
		conn, err := socket.Accept()
		if err != nil {
			heard <- []byte(err.Error())
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		data, _ := io.ReadAll(conn)
		heard <- data
	}()
	require.Empty(t, program(socket.Addr().String(), stdin("E", "T", "{}")))
	require.Empty(t, <-heard)
}

func TestSocketHasNoFile(t *testing.T) {
	a, b := start(t, patience, echo), start(t, patience, echo)
	require.Regexp(t, `^@droid-acp-[A-Z2-7]{26}$`, a.address())
	require.NotEqual(t, a.address(), b.address())
	require.True(t, strings.HasSuffix(a.Command(), " droid-acp-files-hook "+a.address()+" 2>/dev/null || :"), a.Command())
}
