package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/serve"
	"droid-acp/internal/remote/transport"
)

// monthEnv is the number of sessions of TestServerMonth, and optionally its seed: DROID_ACP_MONTH="500 7".
const monthEnv = "DROID_ACP_MONTH"

// month is a server with its clients and its operator.
type month struct {
	t         *testing.T
	k         keptHome
	runtime   string // its sockets are there
	address   string
	tokenFile string
	certFile  string
	keyFile   string
	log       *os.File

	mu       sync.Mutex
	counts   map[string]int
	tokens   map[string]string // by their names
	sessions []string
	opened   int
	running  *exec.Cmd
	ending   bool // no server is started again
	peaks    usage

	longest  time.Duration // that a connection stays half open
	halfOpen sync.WaitGroup
	servers  sync.WaitGroup
}

// usage is the resource usage of a server.
type usage struct{ descriptors, kilobytes, threads, processes int }

func (m *month) count(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[what]++
}

func (m *month) fail(format string, args ...any) {
	m.count("FAILED")
	m.t.Errorf(format, args...)
}

// roles of the tokens.
var monthRoles = map[string]string{"anna": "full", "maria": "full", "phone": "answer,prompt", "screen": "watch"}

// newTokens replaces the tokens of these names, and writes the file.
func (m *month) newTokens(names ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		m.tokens[name] = fmt.Sprintf("%s-%060d", name, m.counts["tokens"])
		m.counts["tokens"]++
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m.tokens)) {
		fmt.Fprintf(&lines, "%s %s %s\n", name, monthRoles[name], m.tokens[name])
	}
	require.NoError(m.t, os.WriteFile(m.tokenFile+"~", []byte(lines.String()), 0o600))
	require.NoError(m.t, os.Rename(m.tokenFile+"~", m.tokenFile))
}

// newCertificate replaces the certificate by one of this name. Certificate and key are two files; the server reads them after SIGHUP alone.
func (m *month) newCertificate(name string) {
	writePair(m.t, newPair(m.t, name), m.certFile, m.keyFile)
}

// start starts a server, again when it has ended, as a unit does, unless another one was started since. The caller holds mu.
func (m *month) start() {
	self, err := os.Executable()
	require.NoError(m.t, err)
	cmd := exec.Command(self, "serve", "--idle", "0", "--keep-idle", "1s", "--log-json", "--listen", m.address, "--token-file", m.tokenFile,
		"--tls-cert", m.certFile, "--tls-key", m.keyFile, "--max-sessions", "200", "--max-agents", "20")
	cmd.Env, cmd.Stderr, cmd.Dir = m.k.env, m.log, m.k.dir
	if err := cmd.Start(); err != nil {
		m.t.Errorf("the server does not start: %v", err)
		return
	}
	m.running = cmd
	m.counts["starts of the server"]++
	m.servers.Go(func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		if cmd.ProcessState.ExitCode() == exitFailed {
			time.Sleep(100 * time.Millisecond) // another one has the address
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.running == cmd && !m.ending {
			m.start()
		}
	})
}

func (m *month) process() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return 0
	}
	return m.running.Process.Pid
}

// awaitServer waits until the server answers, and returns its process.
func (m *month) awaitServer() int {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if _, err := m.get("/healthz", ""); err == nil {
			return m.process()
		}
	}
	m.fail("the server does not answer")
	return m.process()
}

// get asks the server over TLS.
func (m *month) get(path, token string) (text string, err error) {
	client := http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	request, err := http.NewRequest(http.MethodGet, "https://"+m.address+path, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s %s", response.StatusCode, response.TLS.PeerCertificates[0].Subject.CommonName, body), err
}

// processes returns the processes of this home, with their command lines.
func (m *month) processes() map[int]string {
	found := map[int]string{}
	entries, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, path := range entries {
		env, err := os.ReadFile(filepath.Join(path, "environ"))
		if err != nil || !bytes.Contains(env, []byte("HOME="+m.k.dir+"\x00")) {
			continue
		}
		line, err := os.ReadFile(filepath.Join(path, "cmdline"))
		pid, _ := strconv.Atoi(filepath.Base(path)) // it is a number
		if err == nil && len(line) > 0 {            // no zombie
			found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return found
}

// measure returns what the server takes.
func (m *month) measure() (u usage) {
	pid := m.process()
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // it may have ended
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d", &u.kilobytes)
		_, _ = fmt.Sscanf(line, "Threads: %d", &u.threads)
	}
	u.descriptors, u.processes = len(files), len(m.processes())
	return u
}

// descriptors returns what the server has open.
func (m *month) descriptors() (open []string) {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", m.process())) // the pattern is valid
	for _, link := range links {
		target, _ := os.Readlink(link) // it may be closed by now
		open = append(open, target)
	}
	return open
}

func (m *month) recordPeaks() {
	u := m.measure()
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &m.peaks
	p.descriptors, p.kilobytes, p.threads, p.processes = max(p.descriptors, u.descriptors), max(p.kilobytes, u.kilobytes), max(p.threads, u.threads), max(p.processes, u.processes)
}

// files returns the files that the program has in its directories, without those of droid.
func (m *month) files() (found []string) {
	for _, dir := range []string{".local/state", "tmp"} {
		_ = filepath.WalkDir(filepath.Join(m.k.dir, dir), func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.Contains(path, "/unfinished/") && !strings.Contains(path, "/reports/") {
				found = append(found, strings.TrimPrefix(path, m.k.dir))
			}
			return nil
		})
	}
	return found
}

// visitor is a client that acts at random.
type visitor struct {
	m    *month
	rng  *rand.Rand
	conn *transport.Conn
	tcp  *net.TCPConn

	mu      sync.Mutex
	open    map[int]string // requests without an answer
	opens   map[int]bool   // those of them that open a session
	working map[string]bool
	at      []string // sessions that it has opened
	last    int
	ended   chan struct{} // closed when the connection has ended
	changed chan struct{}
	pause   atomic.Int64 // the reader waits for so long
}

// visit is the life of a client.
func (m *month) visit(rng *rand.Rand) {
	names := []string{"anna", "anna", "maria", "maria", "phone", "screen"}
	name := names[rng.Intn(len(names))]
	m.mu.Lock()
	token := m.tokens[name]
	m.mu.Unlock()
	v := &visitor{m: m, rng: rng, open: map[int]string{}, opens: map[int]bool{}, working: map[string]bool{}, ended: make(chan struct{}), changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dial := func(ctx context.Context) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.address)
		if err != nil {
			return nil, err
		}
		v.tcp = conn.(*net.TCPConn)
		far := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
		return far, far.HandshakeContext(ctx)
	}
	var err error
	if v.conn, err = transport.Dial(ctx, dial, "ws://"+m.address+transport.Path, token); err != nil {
		m.count("connections refused")
		time.Sleep(50 * time.Millisecond)
		return
	}
	m.count("connections of " + monthRoles[name])
	reading := make(chan struct{})
	go func() { defer close(reading); v.read() }()
	v.ask("initialize", map[string]any{"protocolVersion": 1, "clientInfo": map[string]any{"name": "month", "version": "1"}}, false)
	v.begin(monthRoles[name])
	for range 3 + rng.Intn(12) {
		select {
		case <-v.ended:
		default:
			v.act(monthRoles[name])
			time.Sleep(time.Duration(rng.Intn(150)) * time.Millisecond)
		}
	}
	if rng.Intn(4) == 0 {
		m.count("connections cut")
		_ = v.tcp.SetLinger(0)
		_ = v.tcp.Close()
		<-reading
		_ = v.conn.Close()
		return
	}
	v.settle()
	_ = v.conn.Close()
	<-reading
}

// settle waits until all requests have their answers.
func (v *visitor) settle() {
	limit := time.After(90 * time.Second)
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		v.mu.Lock()
		left := maps.Clone(v.open)
		working := slices.Collect(maps.Keys(v.working))
		v.mu.Unlock()
		if len(left) == 0 {
			return
		}
		for _, session := range working {
			v.say(map[string]any{"method": "session/cancel", "params": map[string]any{"sessionId": session}})
		}
		select {
		case <-v.ended:
			return
		case <-v.changed:
		case <-again.C: // a prompt that began after the cancel needs another
		case <-limit:
			v.m.fail("requests without an answer: %v", left)
			return
		}
	}
}

func (v *visitor) say(message map[string]any) {
	message["jsonrpc"] = "2.0"
	text, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = v.conn.Write(ctx, text) // the reader sees that the connection has ended
}

func (v *visitor) ask(method string, params map[string]any, opens bool) {
	v.mu.Lock()
	v.last++
	id := v.last
	text, _ := json.Marshal(params)
	v.open[id], v.opens[id] = method+" "+string(text), opens
	v.mu.Unlock()
	v.m.count(method)
	v.say(map[string]any{"id": id, "method": method, "params": params})
}

// read takes what the server sends.
func (v *visitor) read() {
	defer close(v.ended)
	for {
		if pause := v.pause.Swap(0); pause > 0 {
			time.Sleep(time.Duration(pause))
		}
		text, err := v.conn.Read(context.Background())
		if err != nil {
			var end *transport.EndError
			if errors.As(err, &end) {
				v.m.count("ended: " + end.Reason)
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			for range v.open {
				v.m.count("requests whose connection ended")
			}
			return
		}
		var message struct {
			ID     json.RawMessage
			Method string
			Result struct{ SessionID string }
			Error  *struct {
				Code int
				Data struct{ Kind string }
			}
		}
		if err := json.Unmarshal(text, &message); err != nil {
			v.m.fail("no JSON: %.200s", text)
			continue
		}
		switch {
		case message.Method == "session/request_permission":
			v.m.count("permissions asked")
			answer := map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
			if id := string(message.ID); len(id)%3 > 0 {
				v.say(map[string]any{"id": message.ID, "result": answer})
			}
		case message.Method != "" && message.ID != nil:
			v.say(map[string]any{"id": message.ID, "error": map[string]any{"code": -32601, "message": "no"}})
		case message.Method != "":
		default:
			id, _ := strconv.Atoi(string(message.ID)) // an unknown one is not open
			v.mu.Lock()
			what, open := v.open[id]
			delete(v.open, id)
			if message.Result.SessionID != "" && v.opens[id] {
				v.at = append(v.at, message.Result.SessionID)
				v.m.add(message.Result.SessionID)
			}
			v.mu.Unlock()
			if !open {
				v.m.fail("an answer that nobody waits for: %.200s", text)
			}
			method, _, _ := strings.Cut(what, " ")
			if message.Error != nil {
				v.m.count(fmt.Sprintf("answers: error %s to %s", cmp.Or(message.Error.Data.Kind, strconv.Itoa(message.Error.Code)), method))
			} else {
				v.m.count("answers: result")
			}
			select {
			case v.changed <- struct{}{}:
			default:
			}
		}
	}
}

// add makes a session known to all.
func (m *month) add(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions = append(m.sessions, id)
	m.opened++
}

// pick returns one of the last sessions, of this client's own if it can.
func (v *visitor) pick() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.at); n > 0 && v.rng.Intn(4) > 0 {
		return v.at[v.rng.Intn(n)]
	}
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	if n := len(v.m.sessions); n > 0 {
		return v.m.sessions[n-1-v.rng.Intn(min(n, 8))]
	}
	return "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
}

// begin has the client open its first session.
func (v *visitor) begin(role string) {
	if v.rng.Intn(2) == 0 && role == "full" {
		v.create()
	} else {
		v.load(v.pick())
	}
}

func (v *visitor) create() {
	v.ask("session/new", map[string]any{"cwd": filepath.Join(v.m.k.dir, "work"), "mcpServers": []any{}}, true)
}

func (v *visitor) load(session string) {
	v.ask("session/load", map[string]any{"sessionId": session, "cwd": filepath.Join(v.m.k.dir, "work"), "mcpServers": []any{}}, false)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at = append(v.at, session)
}

// act has the client do something.
func (v *visitor) act(role string) {
	session := v.pick()
	named := map[string]any{"sessionId": session}
	switch n := v.rng.Intn(20); {
	case n < 4 && role == "full":
		v.create()
	case n < 6:
		v.load(session)
	case n < 12:
		words := []string{"say", "say", "stream", "stream", "flood", "ask", "ask", "silence", "die", "/status"}
		v.ask("session/prompt", map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": words[v.rng.Intn(len(words))] + " it"}}}, false)
		v.mu.Lock()
		v.working[session] = true
		v.mu.Unlock()
	case n < 14:
		v.m.count("session/cancel")
		v.say(map[string]any{"method": "session/cancel", "params": named})
	case n < 16:
		v.ask([]string{"session/close", "session/close", "session/archive", "session/unarchive", "session/delete"}[v.rng.Intn(5)], named, false)
	case n < 17:
		v.ask("session/list", map[string]any{}, false)
	case n < 18:
		v.ask([]string{"session/set_mode", "_droid/state", "_droid/of_a_version_to_come"}[v.rng.Intn(3)], map[string]any{"sessionId": session, "modeId": "normal"}, false)
	case n < 19:
		v.m.count("clients that read nothing")
		v.pause.Store(int64(time.Duration(v.rng.Intn(2500)) * time.Millisecond))
	default:
		v.m.count("half-open connections")
		kind, patience := v.rng.Intn(4), time.Duration(v.rng.Int63n(int64(v.m.longest)))
		v.m.halfOpen.Go(func() { v.m.connectHalf(kind, patience) })
	}
}

// connectHalf is a connection that becomes no WebSocket.
func (m *month) connectHalf(kind int, patience time.Duration) {
	conn, err := net.Dial("tcp", m.address)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	var far io.ReadWriter = conn
	if kind > 0 {
		far = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	switch kind {
	case 1:
		_, _ = io.WriteString(far, "GET /acp HTTP/1.1\r\nHost: x\r\n") // and nothing more
	case 2:
		_, _ = io.WriteString(far, "nonsense\r\n\r\n")
	case 3:
		_, _ = io.WriteString(far, "POST /acp HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx")
	}
	_, _ = io.Copy(io.Discard, far) // until the server ends it
}

// operate has the operator do something. restarts says whether the server may end.
func (m *month) operate(rng *rand.Rand, restarts bool) {
	m.recordPeaks()
	status := serve.Status{}
	_ = json.Unmarshal([]byte(m.k.run("ps", "--json").stdout), &status) // it may just end
	session := serve.SessionInfo{}
	if n := len(status.Sessions); n > 0 {
		session = status.Sessions[rng.Intn(n)]
	}
	if session.Agent == 0 { // it starts; a signal to 0 is one to this test
		session.ID = ""
	}
	switch n := rng.Intn(15); {
	case n < 2:
		name := []string{"anna", "maria", "phone", "screen"}[rng.Intn(4)]
		m.mu.Lock()
		old := m.tokens[name]
		m.mu.Unlock()
		m.newTokens(name)
		m.hangUp("token reloads", "/metrics", old, "401 ")
	case n < 4:
		name := fmt.Sprintf("certificate-%d", rng.Int())
		m.newCertificate(name)
		m.hangUp("certificate rotations", "/healthz", "", "200 "+name)
	case n < 6 && session.ID != "":
		if rng.Intn(2) == 0 {
			m.count("agents suspended")
			_ = syscall.Kill(session.Agent, syscall.SIGSTOP)
		}
		m.stop(session.ID, "--force")
	case n < 7 && session.ID != "":
		m.stop(session.ID)
	case n < 8 && session.ID != "":
		m.count("agents killed")
		_ = syscall.Kill(session.Agent, syscall.SIGKILL)
	case n < 11:
		for pid, line := range m.processes() {
			if strings.Contains(line, " exec ") {
				m.count("droids killed")
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	case n < 12 && restarts:
		m.count("new servers beside one that drains")
		drained := make(chan result)
		go func() { drained <- m.k.run("stop", "--when-idle", "--limit", "3s") }()
		time.Sleep(time.Duration(rng.Intn(100)) * time.Millisecond)
		m.mu.Lock()
		m.start()
		m.mu.Unlock()
		m.awaitServer()
		if got := <-drained; got.code != exitOK && !strings.Contains(got.stderr, "still work") {
			m.fail("stop --when-idle: %+v", got)
		}
	case n < 13 && restarts:
		m.count("drains")
		if got := m.k.run("stop", "--when-idle", "--limit", "2s"); got.code == exitOK {
			m.count("drains that ended the server")
		} else if !strings.Contains(got.stderr, "still work, so the server goes on") {
			m.fail("stop --when-idle: %+v", got)
		}
		m.awaitServer()
	case n < 15 && restarts:
		how := []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGKILL}[rng.Intn(3)]
		m.count("restarts by " + how.String())
		old := m.process()
		_ = syscall.Kill(old, how)
		for until := time.Now().Add(2 * patience); m.process() == old; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(until) {
				m.fail("the server does not end")
				return
			}
		}
		m.awaitServer()
	}
}

// stop runs the command for a session, which may have ended since.
func (m *month) stop(args ...string) {
	m.count("stop SESSION " + strings.Join(args[1:], " "))
	got := m.k.run(append([]string{"stop"}, args...)...)
	if got.code != exitOK && !strings.Contains(got.stderr, "no session") && !strings.Contains(got.stderr, "no server runs") {
		m.fail("a command failed: %+v", got)
	}
}

// hangUp has the server read its files again, and waits until it answers so.
func (m *month) hangUp(what, path, token, want string) {
	m.count(what)
	m.awaitServer() // a signal ends one that has just started
	_ = syscall.Kill(m.process(), syscall.SIGHUP)
	var got string
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if got, _ = m.get(path, token); strings.HasPrefix(got, want) {
			return
		}
	}
	m.fail("after %s: %s", what, got)
}

// rest waits until nobody is there and nothing runs, and returns what the server takes then.
func (m *month) rest() usage {
	m.halfOpen.Wait()
	pid := m.awaitServer()
	m.mu.Lock()
	token := m.tokens["screen"]
	m.mu.Unlock()
	var metrics string
	for until := time.Now().Add(3 * patience); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		for _, s := range m.k.status().Sessions { // one without a client, in which a turn does not end
			if s.State != serve.Idle && len(s.Clients) == 0 {
				m.count("stop SESSION at the end")
				m.k.run("stop", s.ID)
			}
		}
		m.k.run("stop", "--socket", filepath.Join(m.runtime, "droid-acp", "serve.sock.old")) // one whose turns do not end
		metrics, _ = m.get("/metrics", token)
		if strings.Contains(metrics, "droid_acp_connections 0\n") && strings.Contains(metrics, "droid_acp_agents 0\n") && len(m.processes()) == 1 {
			time.Sleep(time.Second) // what closes behind that
			return m.measure()
		}
	}
	m.fail("the server %d does not come to rest: %v\n%s", pid, m.processes(), metrics)
	return m.measure()
}

// goroutines ends the server, and returns how many goroutines it had, by what they waited in.
func (m *month) goroutines() (n int, dump string) {
	m.mu.Lock()
	cmd := m.running
	m.mu.Unlock()
	before, _ := m.log.Seek(0, io.SeekEnd)
	_ = cmd.Process.Signal(syscall.SIGQUIT)
	for until := time.Now().Add(patience); time.Now().Before(until) && m.process() == cmd.Process.Pid; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", cmd.Process.Pid)); err != nil {
			break
		}
	}
	text, err := os.ReadFile(m.log.Name())
	require.NoError(m.t, err)
	dump = string(text[before:])
	return strings.Count(dump, "\ngoroutine "), dump
}

// live has clients come until so many sessions were opened, and the operator work meanwhile.
func (m *month) live(seed int64, sessions int, restarts bool) {
	var clients, operator sync.WaitGroup
	over := make(chan struct{})
	enough := func() bool { m.mu.Lock(); defer m.mu.Unlock(); return m.opened >= sessions }
	for i := range int64(8) {
		rng := rand.New(rand.NewSource(seed*100 + i))
		clients.Go(func() {
			for !enough() && !m.t.Failed() {
				m.visit(rng)
			}
		})
	}
	operator.Go(func() {
		rng := rand.New(rand.NewSource(seed*100 + 99))
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Duration(rng.Intn(400)) * time.Millisecond):
				m.operate(rng, restarts)
			}
		}
	})
	clients.Wait()
	close(over)
	operator.Wait()
}

// A month of a server in a minute: clients that prompt, cancel, load, leave and lose their connections, an operator who rotates secrets,
// restarts and kills. Each request has one answer, or its connection has ended; at the end the server takes what it took at the beginning,
// no process and no file is left, and it serves. The seed is that of the choices; the order of events is that of the machine.
func TestServerMonth(t *testing.T) {
	sessions, seed, longest := 12, int64(1), 2*time.Second
	if text := os.Getenv(monthEnv); text != "" {
		_, _ = fmt.Sscan(text, &sessions, &seed) // the seed may be missing
		longest = 12 * time.Second
	}
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	k := byHand(t)
	k.env = append(k.env, envMonth+"=1", "DROID_ACP_DROID="+self, "DROID_ACP_SPARE=none", "TMPDIR="+filepath.Join(k.dir, "tmp"))
	for _, dir := range []string{"work", "tmp"} {
		require.NoError(t, os.Mkdir(filepath.Join(k.dir, dir), 0o700))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m := &month{t: t, k: k, runtime: strings.TrimPrefix(k.env[1], "XDG_RUNTIME_DIR="), address: listener.Addr().String(), tokenFile: filepath.Join(k.dir, "tokens"), certFile: filepath.Join(k.dir, "cert"), keyFile: filepath.Join(k.dir, "key"),
		longest: longest, counts: map[string]int{}, tokens: map[string]string{}}
	require.NoError(t, listener.Close())
	m.log, err = os.OpenFile(filepath.Join(k.dir, "log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	require.NoError(t, err)
	defer m.log.Close()
	m.newCertificate("first")
	m.newTokens("anna", "maria", "phone", "screen")
	m.mu.Lock()
	m.start()
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.ending = true
		m.mu.Unlock()
		for pid := range m.processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		m.servers.Wait()
	}()

	began := time.Now()
	m.awaitServer()
	m.live(seed, 2, false) // what is made once
	early := m.rest()
	files := m.files()
	earlyGoroutines, _ := m.goroutines()
	m.live(seed+1, sessions/2, true)
	m.rest()
	m.goroutines() // the next one lives to the end
	m.awaitServer()
	fresh := m.measure()
	m.live(seed+2, sessions, false)
	late := m.rest()
	lateFiles := m.files()
	lateDescriptors := m.descriptors()
	m.mu.Lock()
	tokens := maps.Clone(m.tokens)
	m.mu.Unlock()
	ready, err := m.get("/readyz", tokens["screen"])
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(ready, "200 "), ready)
	lateGoroutines, dump := m.goroutines()

	var table strings.Builder
	for _, what := range slices.Sorted(maps.Keys(m.counts)) {
		fmt.Fprintf(&table, "%6d %s\n", m.counts[what], what)
	}
	t.Logf("seed %d, %d sessions in %v\n%safter two sessions %+v, %d goroutines\nfresh %+v\npeaks %+v\nat the end %+v, %d goroutines\nfiles %d, at the end %d", seed, m.opened, time.Since(began).Round(time.Second),
		table.String(), early, earlyGoroutines, fresh, m.peaks, late, lateGoroutines, len(files), len(lateFiles))
	require.LessOrEqual(t, late.descriptors, early.descriptors+2, "%q", lateDescriptors)
	require.LessOrEqual(t, lateGoroutines, earlyGoroutines+5, dump)
	require.Less(t, late.kilobytes, early.kilobytes+64<<10)
	require.ElementsMatch(t, files, lateFiles)
	log, err := os.ReadFile(m.log.Name())
	require.NoError(t, err)
	require.NotContains(t, strings.ReplaceAll(string(log), "/panic.go:", ""), "panic") // a deferred call that runs has it in the dumps
	require.NotContains(t, string(log), "DATA RACE")
	for _, token := range tokens {
		require.NotContains(t, string(log), token)
	}
}
