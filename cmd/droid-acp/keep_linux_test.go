package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/cli/doctor"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/remote/serve"
	"droid-acp/internal/remote/transport"
)

// Each wrong call of the commands is reported with the right usage.
func TestKeepUsage(t *testing.T) {
	for args, want := range map[string]string{
		"serve --host example.org": "--host is for --listen, and that is not there",
		"serve --listen 0.0.0.0:0 --tls-cert x --tls-key y --token-file z --host example.org": "--host is for --listen without TLS; with TLS clients may use any name",
		"serve --token-file x":                                               "--token-file is for --listen, and that is not there",
		"serve --origin https://x":                                           "--origin is for --listen, and that is not there",
		"serve --listen 127.0.0.1:0":                                         "--listen needs --token-file",
		"serve --listen 0.0.0.0:0 --token-file x":                            "other machines can reach 0.0.0.0:0, so it needs TLS",
		"serve --listen 127.0.0.1:0 --tls-cert x":                            "--tls-cert and --tls-key belong together",
		"serve --listen 127.0.0.1:0 --tls-cert x --tls-key y --token-file z": "the certificate cannot be used",
		"serve --idle -1s":                                                   "allowed is a time such as 10m or 1h",
		"serve --keep":                                                       "unknown flag: --keep",
		"serve x":                                                            "unknown command",
		"ps x":                                                               "ps shows all sessions; the only argument is the address",
		"stop --when-idle x":                                                 "neither SESSION nor --force goes with it",
		"stop --when-idle --force":                                           "neither SESSION nor --force goes with it",
		"attach a b":                                                         "attach joins one session",
		"attach wss://a.example a":                                           "attach needs --token-file",
		"attach --new . a":                                                   "neither SESSION nor --watch-only goes with it",
		"attach --new . --watch-only":                                        "neither SESSION nor --watch-only goes with it",
	} {
		t.Setenv("XDG_RUNTIME_DIR", shortDir(t))
		r := command("", strings.Fields(args)...)
		require.Equal(t, exitUsage, r.code, args)
		require.Contains(t, r.stderr, want)
		require.Contains(t, r.stderr, " --help` for the usage.")
		require.Empty(t, r.stdout)
	}
}

// An address that another program has is no wrong call, and neither is a token that cannot be used.
func TestServerCannotListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("short"), 0o600))
	t.Setenv("HOME", t.TempDir())
	for want, args := range map[string][]string{
		"address already in use; end what listens there, or give --listen another address": {taken.Addr().String(), filepath.Join(t.TempDir(), "token")},
		"has no token: ": {"127.0.0.1:0", file},
	} {
		t.Setenv("XDG_RUNTIME_DIR", shortDir(t))
		r := command("", "serve", "--listen", args[0], "--token-file", args[1])
		require.Equal(t, exitFailed, r.code, r.stderr)
		require.Contains(t, r.stderr, "droid-acp serve: ")
		require.Contains(t, r.stderr, want)
		require.NotContains(t, r.stderr, "--help")
		require.Equal(t, noServer, command("", "ps").stdout, "nothing is left")
	}
}

// shortDir is a directory whose name leaves room for a socket's.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rt")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Without a server there is nothing to show, to end or to join.
func TestNoServerRuns(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", shortDir(t))
	for _, args := range []string{"ps", "stop"} {
		require.Equal(t, result{exitOK, noServer, ""}, command("", args))
	}
	r := command("", "ps", "--json")
	require.JSONEq(t, `{"version":"","process":0,"replaced":false,"draining":false,"clients":0,"agents":0,"sessions":[]}`, r.stdout)
	require.Zero(t, r.code)
	for _, args := range []string{"stop abc", "attach abc", "attach"} {
		words := strings.Fields(args)
		require.Equal(t, result{exitFailed, "", "droid-acp " + words[0] + ": no server runs, so no session is kept\n"}, command("", words...))
	}
}

// keptHome is a home in which agents are kept.
type keptHome struct {
	t   *testing.T
	dir string // of the session, and home
	env []string
}

// run runs a command of the program in that home.
func (k keptHome) run(args ...string) result {
	k.t.Helper()
	self, err := os.Executable()
	require.NoError(k.t, err)
	var stdout, stderr strings.Builder
	cmd := exec.Command(self, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = k.env, &stdout, &stderr
	_ = cmd.Run() // how it ended is in ProcessState
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// startKept starts a front, whose server is stopped at the end of the test.
func startKept(t *testing.T, args ...string) (*agentProcess, keptHome) {
	t.Helper()
	return startKeptDroid(t, "", args...)
}

// startKeptDroid is startKept with what droid does first.
func startKeptDroid(t *testing.T, before string, args ...string) (*agentProcess, keptHome) {
	t.Helper()
	runtime := "XDG_RUNTIME_DIR=" + shortDir(t)
	a := startAgent(t, before, []string{runtime, "DROID_ACP_KEEP=1"}, args...)
	k := keptHome{t, a.dir, a.cmd.Env}
	t.Cleanup(func() { k.run("stop") })
	return a, k
}

// A conversation over a server: it is listed, joined in a terminal, where its question is answered, continues without its editor, and ends
// with the server.
func TestKeptConversation(t *testing.T) {
	t.Parallel()
	a, k := startKept(t)
	a.begin()
	a.prompt("Add a greeting")
	a.await("a question", func(l agentLine) bool { return l.Method == "session/request_permission" })
	shown := k.run("ps")
	require.Zero(t, shown.code, shown.stderr)
	require.Contains(t, shown.stdout, a.session[:8]+"  asks ")
	require.Contains(t, shown.stdout, " ~ ")

	typed, join := k.attach(a.session[:8])
	read := make(chan string)
	go func() {
		defer close(read)
		for buf := make([]byte, 4096); ; {
			n, err := typed.Read(buf)
			if err != nil {
				return
			}
			select {
			case read <- string(buf[:n]):
			case <-t.Context().Done():
				return
			}
		}
	}()
	screen := "" // behind what was waited for
	until := func(part string) {
		t.Helper()
		for !strings.Contains(screen, part) {
			select {
			case text, more := <-read:
				require.True(t, more, "%q is not shown: %q", part, screen)
				screen += text
			case <-time.After(patience):
				require.Failf(t, "not shown", "%q is not shown: %q", part, screen)
			}
		}
		_, screen, _ = strings.Cut(screen, part)
	}
	until("you     | (in another client) Add a greeting")
	until("joined  | ")
	until("        | 1. ")
	typing := func(keys ...string) {
		for _, key := range keys {
			_, err := typed.WriteString(key)
			require.NoError(t, err)
		}
	}
	typing("1\r") // as a terminal passes on what is pasted
	until("is no answer; type it again")
	typing("\x1b[200~1\x1b[201~\r")
	until("is no answer; type it again")
	require.Equal(t, "asks", k.status().Sessions[0].State)
	typing("1")
	until("> 1") // it has read that
	typing("\r")
	until("answer  | ")
	a.await("that the question is withdrawn", func(l agentLine) bool { return l.Method == "$/cancel_request" })
	require.NoError(t, a.cmd.Process.Kill())
	a.awaitEnd()
	require.NoError(t, join.Process.Signal(os.Interrupt))
	until("You left. The session goes on.")
	require.NoError(t, join.Wait())

	var status serve.Status
	require.Eventually(t, func() bool { // the server hears a moment later that they are gone
		status = k.status()
		return len(status.Sessions) == 1 && len(status.Sessions[0].Clients) == 0
	}, patience, 50*time.Millisecond)
	require.False(t, status.Replaced)
	require.Equal(t, result{code: exitOK}, k.run("stop", a.session[:4]))
	require.Empty(t, k.status().Sessions)
	require.Equal(t, result{code: exitOK}, k.run("stop"))
	require.Equal(t, noServer, k.run("ps").stdout)
	entries, err := os.ReadDir(filepath.Join(k.dir, ".local/state/droid-acp/journals"))
	require.NoError(t, err)
	require.Empty(t, entries)
}

// attach joins a session in a terminal, which is the leader of a session of the system's.
func (k keptHome) attach(args ...string) (terminal *os.File, join *exec.Cmd) {
	k.t.Helper()
	terminal, program := openTerminal(k.t)
	self, err := os.Executable()
	require.NoError(k.t, err)
	join = exec.Command(self, append([]string{"attach"}, args...)...)
	join.Env, join.Stdin, join.Stdout, join.Stderr = append(k.env, "NO_COLOR=1"), program, program, os.Stderr
	join.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(k.t, join.Start())
	return terminal, join
}

func (k keptHome) status() (s serve.Status) {
	k.t.Helper()
	got := k.run("ps", "--json")
	require.NoError(k.t, json.Unmarshal([]byte(got.stdout), &s), got.stdout+got.stderr)
	return s
}

// The editor's flags reach its agent, and --keep does not.
func TestKeptAgentHasTheFlags(t *testing.T) {
	t.Parallel()
	a, k := startKept(t, "--trust", "never", "--keep=true")
	a.begin()
	require.Equal(t, 1, k.status().Clients)
	found := 0
	entries, err := filepath.Glob("/proc/*/cmdline")
	require.NoError(t, err)
	for _, path := range entries {
		command, _ := os.ReadFile(path)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if !strings.Contains(string(command), "\x00--trust=never\x00") || !strings.Contains(string(env), "HOME="+k.dir+"\x00") {
			continue
		}
		found++
		require.NotContains(t, string(command), "--keep")
		require.NotContains(t, string(env), "DROID_ACP_KEEP")
	}
	require.Equal(t, 1, found)
}

// When the server is killed, the prompt that runs is answered, and the next front starts another.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	a, k := startKept(t)
	a.begin()
	a.prompt("Add a greeting")
	a.await("a question", func(l agentLine) bool { return l.Method == "session/request_permission" })
	require.NoError(t, syscall.Kill(k.status().Process, syscall.SIGKILL))
	answer := a.response(3)
	require.Contains(t, answer.Raw, `"kind":"server_gone"`)
	a.awaitEnd()
	require.Equal(t, exitFailed, a.cmd.ProcessState.ExitCode())
	self, err := os.Executable()
	require.NoError(t, err)
	next := exec.Command(self)
	next.Env = k.env
	next.Stdin = strings.NewReader("")
	require.NoError(t, next.Run())
	require.Eventually(t, func() bool { return k.status().Clients == 0 }, patience, 50*time.Millisecond) // the server hears a moment later
}

// serving is a server that was started by hand.
type serving struct {
	cmd    *exec.Cmd
	stderr *bufio.Scanner
}

func (k keptHome) serve(args ...string) serving {
	k.t.Helper()
	self, err := os.Executable()
	require.NoError(k.t, err)
	cmd := exec.Command(self, append([]string{"serve", "--log-level", "info"}, args...)...)
	cmd.Env = k.env
	stderr, err := cmd.StderrPipe()
	require.NoError(k.t, err)
	require.NoError(k.t, cmd.Start())
	k.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return serving{cmd, bufio.NewScanner(stderr)}
}

// address is where the server listens, as it logs it.
func (s serving) address(t *testing.T) string {
	t.Helper()
	for s.stderr.Scan() {
		if m := regexp.MustCompile(`^droid-acp serve: clients can connect to wss?://([^/]+)/acp with a token in /.+`).FindStringSubmatch(s.stderr.Text()); m != nil {
			return m[1]
		}
	}
	require.FailNow(t, "the server does not say where it listens")
	return ""
}

// stop ends the server with the command stop, while reading its output and waiting for its process, since the command returns only after
// the process was waited for.
func (s serving) stop(k keptHome) {
	k.t.Helper()
	stopped := make(chan result)
	go func() { stopped <- k.run("stop") }()
	for s.stderr.Scan() {
	}
	require.NoError(k.t, s.cmd.Wait())
	require.Equal(k.t, result{code: exitOK}, <-stopped)
}

// With a certificate the clients over TCP speak TLS.
func TestServeOverTLS(t *testing.T) {
	t.Parallel()
	example := httptest.NewTLSServer(nil) // for its certificate
	defer example.Close()
	k := byHand(t)
	certFile, keyFile, token := filepath.Join(k.dir, "cert"), filepath.Join(k.dir, "key"), filepath.Join(k.dir, "new", "token")
	writePair(t, example.TLS.Certificates[0], certFile, keyFile)
	s := k.serve("--listen", "0.0.0.0:0", "--tls-cert", certFile, "--tls-key", keyFile, "--token-file", token)
	_, port, err := net.SplitHostPort(s.address(t))
	require.NoError(t, err)
	response, err := example.Client().Get("https://127.0.0.1:" + port + transport.Path)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	require.Equal(t, version(), k.status().Version)
	s.stop(k)
}

func writePair(t *testing.T, pair tls.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
}

// newPair is a certificate that signs itself.
func newPair(t *testing.T, name string) tls.Certificate {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{cert}, PrivateKey: key}
}

// SIGHUP makes the server read the tokens and the certificate again, and ends the connections of tokens that are gone. If they are invalid,
// the old ones are kept.
func TestHangupReloads(t *testing.T) {
	t.Parallel()
	k := byHand(t)
	certFile, keyFile, token := filepath.Join(k.dir, "cert"), filepath.Join(k.dir, "key"), filepath.Join(k.dir, "token")
	writePair(t, newPair(t, "one"), certFile, keyFile)
	first, second, stays := strings.Repeat("1", 64), strings.Repeat("2", 64), strings.Repeat("3", 64)
	require.NoError(t, os.WriteFile(token, []byte("one full "+first+"\nother full "+stays), 0o600))
	s := k.serve("--listen", "127.0.0.1:0", "--tls-cert", certFile, "--tls-key", keyFile, "--token-file", token)
	address := s.address(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := func(token string) (of string, status int) {
		client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+transport.Path, nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := client.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.TLS.PeerCertificates[0].Subject.CommonName, response.StatusCode
	}
	way := func(ctx context.Context) (net.Conn, error) {
		return (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", address)
	}
	revoked, err := transport.Dial(ctx, way, "ws://"+address+transport.Path, first)
	require.NoError(t, err)
	conn, err := transport.Dial(ctx, way, "ws://"+address+transport.Path, stays)
	require.NoError(t, err)
	hangsUp := func(says string) {
		t.Helper()
		require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
		for s.stderr.Scan() {
			if strings.Contains(s.stderr.Text(), says) {
				return
			}
		}
		require.Fail(t, "the server has ended")
	}
	writePair(t, newPair(t, "two"), certFile, keyFile)
	require.NoError(t, os.WriteFile(token, []byte("one full "+second+"\nother full "+stays), 0o600))
	hangsUp("reloaded tokens and certificate")
	of, status := got(second)
	require.Equal(t, "two", of)
	require.Equal(t, http.StatusUpgradeRequired, status)
	_, status = got(first)
	require.Equal(t, http.StatusUnauthorized, status)
	_, err = revoked.Read(ctx)
	require.ErrorContains(t, err, "the token was revoked or changed")

	require.NoError(t, os.Chmod(keyFile, 0o644))
	hangsUp("the key of the certificate in " + keyFile + " is not secret")
	require.NoError(t, os.Chmod(keyFile, 0o600))
	writePair(t, newPair(t, "three"), certFile, keyFile)
	require.NoError(t, os.WriteFile(token, []byte("short"), 0o600))
	hangsUp("has no token: ")
	of, status = got(second)
	require.Equal(t, "two", of)
	require.Equal(t, http.StatusUpgradeRequired, status)

	require.NoError(t, conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)))
	answer, err := conn.Read(ctx)
	require.NoError(t, err)
	require.Contains(t, string(answer), `"loadSession":true`)
	require.NoError(t, conn.Close())
	s.stop(k)
}

// A server that listens on the socket alone has nothing to read again.
func TestHangupEndsNothing(t *testing.T) {
	t.Parallel()
	a, k := startKept(t)
	a.begin()
	require.NoError(t, syscall.Kill(k.status().Process, syscall.SIGHUP))
	a.prompt("Add a greeting")
	a.await("a question", func(l agentLine) bool { return l.Method == "session/request_permission" })
	require.Equal(t, 1, k.status().Clients)
}

func byHand(t *testing.T) keptHome {
	dir := t.TempDir()
	return keptHome{t, dir, []string{"HOME=" + dir, "XDG_RUNTIME_DIR=" + shortDir(t), "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0", envProgram + "=1"}}
}

// Requests must name the server by the address that it listens on, by one of this machine's own, or by a name of --host, as a proxy passes it
// on.
func TestHostsOfServe(t *testing.T) {
	t.Parallel()
	k := byHand(t)
	s := k.serve("--listen", "127.0.0.2:0", "--token-file", filepath.Join(k.dir, "token"), "--host", "droid.example", "--host", "other.example:8443")
	address := s.address(t)
	require.Contains(t, address, "127.0.0.2:")
	for host, status := range map[string]int{
		address: http.StatusUnauthorized, "localhost": http.StatusUnauthorized, "droid.example": http.StatusUnauthorized, "droid.example:443": http.StatusUnauthorized,
		"other.example:8443": http.StatusUnauthorized, "other.example": http.StatusForbidden, "evil.example": http.StatusForbidden, "127.0.0.3": http.StatusForbidden,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+transport.Path, nil)
		require.NoError(t, err)
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, status, response.StatusCode, host)
		require.Equal(t, status == http.StatusForbidden, strings.Contains(string(text), "--host"), "it says what to do")
	}
	s.stop(k)
}

// Clients over TCP need the token.
func TestServeOverTCP(t *testing.T) {
	t.Parallel()
	k := byHand(t)
	k.env = append(k.env, "DROID_ACP_KEEP=1") // which is not for its agents
	file := filepath.Join(k.dir, "token")
	s := k.serve("--listen", "127.0.0.1:0", "--token-file", file)
	address := s.address(t)
	token, err := os.ReadFile(file)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	way := func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) }
	_, err = transport.Dial(ctx, way, "ws://"+address+transport.Path, "wrong")
	require.ErrorContains(t, err, "The token is missing or wrong")
	conn, err := transport.Dial(ctx, way, "ws://"+address+transport.Path, strings.TrimSpace(string(token)))
	require.NoError(t, err)
	require.NoError(t, conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)))
	answer, err := conn.Read(ctx)
	require.NoError(t, err)
	require.Contains(t, string(answer), `"loadSession":true`)
	require.Equal(t, [2]int{1, 0}, [2]int{k.status().Clients, k.status().Agents}, "it has opened no session")
	for _, path := range []string{"/status", "/stop"} {
		response, err := http.Get("http://" + address + path)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.GreaterOrEqual(t, response.StatusCode, 400, path)
	}
	require.NoError(t, conn.Close())

	again := k.run("serve")
	require.Equal(t, exitFailed, again.code)
	require.Contains(t, again.stderr, "droid-acp serve: another server of yours runs already; "+diagnosis.Command("ps")+" shows what it keeps, "+diagnosis.Command("stop")+" ends it\n")
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	for s.stderr.Scan() {
	}
	require.NoError(t, s.cmd.Wait())
	require.Equal(t, noServer, k.run("ps").stdout)
}

// An unused server ends.
func TestServerEndsWhenIdle(t *testing.T) {
	t.Parallel()
	k := byHand(t)
	began := time.Now()
	s := k.serve("--idle", "100ms")
	for s.stderr.Scan() {
	}
	require.NoError(t, s.cmd.Wait())
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
	require.Equal(t, noServer, k.run("ps").stdout)
}

// One that a container or a service manager keeps does not: its --idle is 0.
func TestServerStaysWithoutIdle(t *testing.T) {
	t.Parallel()
	k := byHand(t)
	s := k.serve("--idle", "0", "--listen", "127.0.0.1:0", "--token-file", filepath.Join(k.dir, "token"))
	s.address(t)
	require.Zero(t, k.status().Clients, "it answers")
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	for s.stderr.Scan() {
		require.NotContains(t, s.stderr.Text(), "nothing was there")
	}
	require.NoError(t, s.cmd.Wait())
}

// A server of another version, or whose program was replaced, is reported.
func TestOtherProgram(t *testing.T) {
	require.Empty(t, otherProgram(serve.Status{Version: version()}, nil))
	require.Equal(t, "\nThe server is droid-acp 0.0.1, and this is "+version()+". "+diagnosis.Command("stop")+" ends it and what it runs, and the next start takes the new one.\n",
		otherProgram(serve.Status{Version: "0.0.1", Replaced: true}, diagnosis.Command))
	require.Contains(t, otherProgram(serve.Status{Version: version(), Replaced: true}, diagnosis.Command), "The program on the disk is another one than the server that runs.")
	require.Contains(t, otherProgram(serve.Status{Version: "\x1b"}, diagnosis.Command), `droid-acp \x1b,`)
}

// suspend stops a process, and returns when all of its threads have stopped.
func suspend(t *testing.T, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	require.Eventually(t, func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		return err == nil && !slices.ContainsFunc(threads, func(path string) bool {
			stat, err := os.ReadFile(path)
			return err != nil || !strings.Contains(string(stat), ") T ")
		})
	}, patience, 10*time.Millisecond)
}

// A server that hangs does not block its clients: a new bridge reports it to its editor, and so do the commands; one of them ends it.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	a, k := startKept(t)
	a.begin()
	process := k.status().Process
	suspend(t, process)
	t.Cleanup(func() { _ = syscall.Kill(process, syscall.SIGCONT) })
	self, err := os.Executable()
	require.NoError(t, err)
	next := exec.Command(self)
	next.Env = k.env
	next.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n")
	told := make(chan string)
	go func() {
		said, _ := next.Output() // how it ended is in ProcessState
		told <- string(said)
	}()
	shown := make(chan result)
	go func() { shown <- k.run("ps") }()
	hung := fmt.Sprintf("the server that keeps sessions (process %d) does not answer, also not after 5s; %s ends it and what it runs", process, diagnosis.Command("stop", "--force"))
	said := <-told
	require.Contains(t, said, hung+", or start the agent without --keep, for one of its own")
	require.Contains(t, said, `"id":1`)
	require.Equal(t, exitFailed, next.ProcessState.ExitCode())
	require.Equal(t, result{exitFailed, "", "droid-acp ps: " + hung + "\n"}, <-shown)
	require.Equal(t, result{code: exitOK}, k.run("stop", "--force"))
	require.Equal(t, noServer, k.run("ps").stdout)
	a.requireGone("pids")
}

// Each command named in a text runs as printed: also without droid-acp in the PATH, and for a server at another socket.
func TestPrintedCommandsRun(t *testing.T) {
	t.Parallel()
	k := byHand(t)
	socket := []string{"--socket", filepath.Join(shortDir(t), "a b", "s.sock")}
	s := k.serve(socket...)
	at := func(args ...string) result { return k.run(append(args, socket...)...) }
	runs := func() bool { return strings.HasPrefix(at("ps").stdout, "The server runs ") }
	require.Eventually(t, runs, patience, 50*time.Millisecond)
	typed := func(text string) (all []result) {
		t.Helper()
		for _, command := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
			var stdout, stderr strings.Builder
			shell := exec.Command("/bin/sh", "-c", command[1])
			shell.Env, shell.Stdout, shell.Stderr = k.env, &stdout, &stderr
			_ = shell.Run() // how it ended is in ProcessState
			all = append(all, result{shell.ProcessState.ExitCode(), stdout.String(), stderr.String()})
		}
		return all
	}
	empty := result{exitOK, fmt.Sprintf("The server runs (process %d) and has no sessions.\n", s.cmd.Process.Pid), ""}
	for _, args := range []string{"attach abc", "stop abc"} {
		require.Equal(t, []result{empty}, typed(at(strings.Fields(args)...).stderr), args)
	}
	help := typed(at("ps", "x").stderr)
	require.Len(t, help, 1)
	require.Contains(t, help[0].stdout, "Usage:\n  droid-acp ps [flags] [wss://HOST:PORT]\n")
	require.Equal(t, []result{empty, {code: exitOK}}, typed(at("serve").stderr), "the second ends it")
	for s.stderr.Scan() {
	}
	require.NoError(t, s.cmd.Wait())

	s = k.serve(socket...)
	require.Eventually(t, runs, patience, 50*time.Millisecond)
	suspend(t, s.cmd.Process.Pid)
	require.Equal(t, []result{{code: exitOK}}, typed(at("ps").stderr))
	require.Error(t, s.cmd.Wait(), "it was killed")
}

// Requests before the end of stdin are answered.
func TestKeptInitializeAtTheEnd(t *testing.T) {
	t.Parallel()
	a, _ := startKept(t)
	a.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	require.NoError(t, a.stdin.Close())
	require.Contains(t, string(a.response(1).Result), `"loadSession":true`)
	a.awaitEnd()
	require.Zero(t, a.cmd.ProcessState.ExitCode())
}

// The doctor looks at what --keep needs.
func TestDoctorLooksAtTheServer(t *testing.T) {
	runtime := shortDir(t)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	socket := filepath.Join(runtime, "droid-acp", "serve.sock")
	require.Equal(t, doctor.KeepStatus{Socket: socket, Found: "No server runs; --keep starts one."}, checkServer(t.Context()))
	require.NoError(t, os.Mkdir(filepath.Dir(socket), 0o777))
	require.NoError(t, os.Chmod(filepath.Dir(socket), 0o777))
	got := checkServer(t.Context())
	require.Contains(t, got.Found, " is open for other users, who could reach a socket in it; close it: chmod 700 ")
	require.Equal(t, "See to that, or do without --keep.", got.ToDo)
	long := filepath.Join(runtime, strings.Repeat("x", 100))
	require.NoError(t, os.Mkdir(long, 0o700))
	t.Setenv("XDG_RUNTIME_DIR", long)
	require.Contains(t, checkServer(t.Context()).Found, "The path of the server's socket is too long: ")
	_, k := startKept(t)
	t.Setenv("XDG_RUNTIME_DIR", "")
	for _, v := range k.env {
		if dir, is := strings.CutPrefix(v, "XDG_RUNTIME_DIR="); is {
			t.Setenv("XDG_RUNTIME_DIR", dir)
		}
	}
	require.Eventually(t, func() bool { return strings.HasPrefix(checkServer(t.Context()).Found, "It runs (process ") }, patience, time.Millisecond)
}

// With --log-json each line of stderr is JSON, and each connection, session and refusal has one line. None has a token in it.
func TestServeLogsJSON(t *testing.T) {
	t.Parallel()
	k := byHand(t)
	file, secret := filepath.Join(k.dir, "tokens"), strings.Repeat("5", 40)
	require.NoError(t, os.WriteFile(file, []byte("screen watch "+secret+"\n"), 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "serve", "--log-json", "--listen", "127.0.0.1:0", "--token-file", file)
	cmd.Env = k.env
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	lines := bufio.NewScanner(stderr)
	var logged []map[string]any
	await := func(message string) map[string]any {
		t.Helper()
		for lines.Scan() {
			var line map[string]any
			require.NoError(t, json.Unmarshal(lines.Bytes(), &line), lines.Text())
			require.NotContains(t, lines.Text(), secret)
			logged = append(logged, line)
			if text, _ := line["msg"].(string); strings.HasPrefix(text, message) {
				return line
			}
		}
		require.Fail(t, "not logged: "+message)
		return nil
	}
	address := regexp.MustCompile(`ws://([^/]+)/`).FindStringSubmatch(await("clients can connect to")["msg"].(string))[1]
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	way := func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) }
	_, err = transport.Dial(ctx, way, "ws://"+address+transport.Path, secret+"x")
	require.ErrorContains(t, err, "401")
	require.Equal(t, "The token is missing or wrong", await("refused a connection")["reason"])
	conn, err := transport.Dial(ctx, way, "ws://"+address+transport.Path, secret)
	require.NoError(t, err)
	require.NoError(t, conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)))
	require.NoError(t, conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)))
	refused := await("refused a message")
	require.Equal(t, [3]any{"screen", "session/new", "the token of this client has the role watch, which does not allow session/new"}, [3]any{refused["token"], refused["method"], refused["reason"]})
	require.NoError(t, conn.Close())
	require.Equal(t, refused["connection"], await("a client disconnected")["connection"])
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	for lines.Scan() {
		require.True(t, json.Valid(lines.Bytes()), lines.Text())
	}
	require.NoError(t, cmd.Wait())
	counts := map[any]int{}
	for _, line := range logged {
		counts[line["msg"]]++
	}
	require.Equal(t, [4]int{1, 1, 1, 1}, [4]int{counts["a client connected"], counts["refused a connection"], counts["refused a message"], counts["a client disconnected"]}, counts)
}

// stop --when-idle ends a server when nothing works in it; until then nothing ends, and at the end of --limit it says what still works.
// stop --force SESSION ends an agent that does not answer.
func TestStopWhenIdleAndByForce(t *testing.T) {
	t.Parallel()
	a, k := startKept(t)
	a.begin()
	a.prompt("Add a greeting")
	a.await("a question", func(l agentLine) bool { return l.Method == "session/request_permission" })
	got := k.run("stop", "--when-idle", "--limit", "1s")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "after 1s 1 sessions still work, so the server goes on")
	status := k.status()
	require.Equal(t, serve.Asking, status.Sessions[0].State)
	require.False(t, status.Draining)

	require.NoError(t, syscall.Kill(status.Sessions[0].Agent, syscall.SIGSTOP))
	began := time.Now()
	require.Equal(t, result{code: exitOK}, k.run("stop", "--force", status.Sessions[0].ID))
	require.Less(t, time.Since(began), 15*time.Second)
	require.Empty(t, k.status().Sessions)
	require.Equal(t, result{code: exitOK}, k.run("stop", "--when-idle"))
	require.Equal(t, noServer, k.run("ps").stdout)
}
