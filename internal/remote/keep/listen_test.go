//go:build unix

package keep

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"droid-acp/internal/sys/files"
)

func TestListen(t *testing.T) {
	path := socketPath(t)
	l := listenAt(t, path)
	for name, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), name)
	}
	require.ErrorIs(t, listenError(t, path), ErrRunning)
	conn, err := Connect(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	closeListener(l)
	require.NoFileExists(t, path)
	require.NoFileExists(t, lockOf(path))
	require.ErrorIs(t, connectError(t, path), ErrNotRunning)
	require.ErrorIs(t, connectError(t, socketPath(t)), ErrNotRunning, "there is no directory either")
}

// The socket of a killed server is removed.
func TestStaleSocket(t *testing.T) {
	path := socketPath(t)
	l := listenAt(t, path)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	require.NoError(t, l.lock.Close(), "as the system does")
	require.FileExists(t, path+".lock")
	require.ErrorIs(t, connectError(t, path), ErrNotRunning)
	closeListener(listenAt(t, path))
}

// An ending server holds its lock until its agents have ended; the next one waits for that.
func TestNextServerWaits(t *testing.T) {
	path := socketPath(t)
	first := listenAt(t, path)
	require.NoError(t, first.Close())
	next := make(chan error, 1)
	go func() {
		l, err := Listen(t.Context(), path, zap.NewNop())
		if err == nil {
			closeListener(l)
		}
		next <- err
	}()
	require.Empty(t, next)
	first.Release()
	require.NoError(t, <-next)
}

func TestListenRefusesOtherFiles(t *testing.T) {
	path := socketPath(t)
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.ErrorContains(t, listenError(t, path), path+" is no socket; remove it")
	require.FileExists(t, path)
	require.NoError(t, os.Remove(path))
	other, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer other.Close()
	require.ErrorContains(t, listenError(t, path), "another program listens on "+path)
	require.NoFileExists(t, lockOf(path))

	require.NoError(t, os.Mkdir(lockOf(path), 0o700))
	require.ErrorContains(t, listenError(t, path), "the server's lock "+lockOf(path)+" cannot be taken")
}

// Of several servers that start at the same time, one listens.
func TestOneServer(t *testing.T) {
	path := socketPath(t)
	type outcome struct {
		l   *Listener
		err error
	}
	outcomes := make(chan outcome)
	const several = 8
	for range several {
		go func() {
			l, err := Listen(t.Context(), path, zap.NewNop())
			outcomes <- outcome{l, err}
		}()
	}
	var winner *Listener
	for range several {
		o := <-outcomes
		if o.err == nil {
			require.Nil(t, winner)
			winner = o.l
			continue
		}
		require.ErrorIs(t, o.err, ErrRunning)
	}
	require.NotNil(t, winner)
	closeListener(winner)
}

// Another user can neither connect, nor send requests, nor signals; and if the directory was opened to all, the server still closes the
// connection.
func TestAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	path := socketPath(t)
	core, logged := observer.New(zap.WarnLevel)
	l, err := Listen(t.Context(), path, zap.New(core))
	require.NoError(t, err)
	p := newAdminServer(l)
	defer p.close()
	ask := func() string {
		public, err := os.MkdirTemp("", "public")
		require.NoError(t, err)
		defer os.RemoveAll(public)
		require.NoError(t, os.Chmod(public, 0o755))
		self, err := os.Executable()
		require.NoError(t, err)
		program, err := files.Read(self, 1<<30)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(public+"/stranger", program, 0o755))
		cmd := exec.CommandContext(t.Context(), public+"/stranger", path, strconv.Itoa(os.Getpid()))
		cmd.Dir, cmd.Env = "/", []string{envPlay + "=stranger", "GORACE=atexit_sleep_ms=0"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755))
	said := ask()
	require.Contains(t, said, "dial: dial unix "+path+": connect: permission denied")
	require.Regexp(t, "status: .*(permission denied|belongs to another user)", said)
	require.Contains(t, said, "signal: operation not permitted")
	require.Zero(t, logged.Len())

	require.NoError(t, os.Chmod(filepath.Dir(path), 0o755))
	require.NoError(t, os.Chmod(path, 0o666))
	said = ask()
	require.Contains(t, said, "dial: closed")
	require.Regexp(t, "status: .*belongs to another user", said)
	require.Equal(t, "refused a connection", logged.All()[0].Message)
	require.Contains(t, logged.All()[0].ContextMap()["error"], "is of user 65534, and this one of 0")
}

// playStranger tries what another user must not be able to do.
func playStranger(path, pid string) {
	conn, err := net.Dial("unix", path)
	if err == nil {
		fmt.Fprint(conn, "GET /status HTTP/1.0\r\n\r\n")
		err = fmt.Errorf("open")
		if isClosed(conn) {
			err = fmt.Errorf("closed")
		}
	}
	fmt.Println("dial:", err)
	_, err = NewClient(path, typed).Status(context.Background())
	fmt.Println("status:", strings.ReplaceAll(fmt.Sprint(err), "\n", " "))
	number, _ := strconv.Atoi(pid)
	fmt.Println("signal:", syscall.Kill(number, 0))
}
