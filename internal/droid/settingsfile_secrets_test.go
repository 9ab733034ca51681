package droid

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// secret must be in a file of these tests only while droid reads it.
const secret = "s3cr3t"

// watched is a settings file that a test looks into.
type watched struct {
	mu     sync.Mutex
	text   string
	writes int
	fails  bool
}

func (w *watched) write(data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails {
		return errors.New("no memory")
	}
	w.text, w.writes = string(data), w.writes+1
	return nil
}

func (w *watched) get() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text
}

func (w *watched) has() bool { return strings.Contains(w.get(), secret) }

// withSecrets returns a client whose settings file has been given a server with secrets,
// and its droid.
func withSecrets(t *testing.T, version string) (*Client, *peer, *watched) {
	t.Helper()
	t.Setenv(envHome, t.TempDir()) // of the user's hooks
	w := &watched{}
	c, p := newPeerOf(t, version, func(stdout io.Reader, stdin io.WriteCloser) *Client {
		return NewClientWithSettings(stdout, stdin, w.write, nil)
	})
	p.notify(`{"type":"mcp_status_changed","servers":[]}`)
	<-c.Events()
	require.NoError(t, c.SetRuntime(Runtime{CWD: t.TempDir(), Hooks: ours, MCPServers: []stream.MCPServer{
		{Name: "a", Command: "a", Env: map[string]string{"TOKEN": secret}},
		{Name: "b", URL: "http://b/?key=" + secret, Headers: []stream.MCPHeader{{Name: "Authorization", Value: secret}}}}}))
	return c, p, w
}

const withoutSecrets = `{` + noMCP + `,"hooks":{"PreToolUse":[` + oursPre + `],"PostToolUse":[` + oursPost + `]}}`

// opens makes the client open a session. The servers must be in the file when droid gets the request.
func opens(t *testing.T, p *peer, w *watched, method string, open func() error) {
	t.Helper()
	opened := async(open)
	m := p.expect(method)
	require.True(t, w.has(), "droid reads the file now")
	p.reply(m.ID, `{"sessionId":"s"}`)
	require.NoError(t, <-opened)
}

func initialize(c *Client) func() error {
	return func() error {
		_, err := c.Initialize(context.Background(), InitializeParams{CWD: "/x"})
		return err
	}
}

func load(c *Client) func() error {
	return func() error {
		_, err := c.Load(context.Background(), LoadParams{SessionID: "s"})
		return err
	}
}

// A droid that has read the file when it answers gets the servers with each session that
// it opens, and they leave the file with the answer. The hooks stay.
func TestSecretsLeaveWithTheAnswer(t *testing.T) {
	c, p, w := withSecrets(t, "1.15.0")
	require.JSONEq(t, withoutSecrets, w.get(), "nobody reads it yet")
	opens(t, p, w, methodInitialize, initialize(c))
	require.JSONEq(t, withoutSecrets, w.get())
	opens(t, p, w, methodLoad, load(c))
	require.JSONEq(t, withoutSecrets, w.get())

	refused := async(load(c))
	m := p.expect(methodLoad)
	require.True(t, w.has())
	p.refuse(`"`+m.ID+`"`, -32603, "no such session")
	require.Error(t, <-refused)
	require.False(t, w.has())
}

// The same with a droid that may read the file after its answer: the servers are there until
// it asks the model.
func TestSecretsLeaveBeforeTheModelIsAsked(t *testing.T) {
	for _, version := range []string{"1.206.0", "1.220.0"} {
		c, p, w := withSecrets(t, version)
		for i, open := range []func() error{initialize(c), load(c)} {
			opens(t, p, w, []string{methodInitialize, methodLoad}[i], open)
			require.True(t, w.has(), "droid reads the file now")
			p.notify(`{"type":"droid_working_state_changed","newState":"streaming_assistant_message"}`)
			<-c.Events()
			require.True(t, w.has(), "droid may still read the file")
			p.notify(`{"type":"droid_working_state_changed","newState":"thinking"}`)
			<-c.Events()
			require.JSONEq(t, withoutSecrets, w.get())
		}
	}
}

// Where no prompt comes, they leave some time after the answer: the sooner, the faster droid was to answer.
func TestSecretsLeaveWithoutAPrompt(t *testing.T) {
	for took, stay := range map[time.Duration]time.Duration{0: time.Second, 100 * time.Millisecond: 1400 * time.Millisecond, time.Second: 5 * time.Second, 20 * time.Second: 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c, p, w := withSecrets(t, "1.220.0")
			for i, method := range []string{methodInitialize, methodLoad, methodLoad} { // droid reads the file again with each
				open := load(c)
				if i == 0 {
					open = initialize(c)
				}
				opened := async(open)
				m := p.expect(method)
				time.Sleep(took)
				synctest.Wait()
				require.True(t, w.has(), "droid reads the file now")
				p.reply(m.ID, `{"sessionId":"s"}`)
				require.NoError(t, <-opened)
				time.Sleep(stay - time.Nanosecond)
				synctest.Wait()
				require.True(t, w.has())
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			require.JSONEq(t, withoutSecrets, w.get())
		})
	}
}

// TestSecretsComeWhenDroidListens: they are not in the file while a droid that was just started is not there
// yet.
func TestSecretsComeWhenDroidListens(t *testing.T) {
	t.Setenv(envHome, t.TempDir())
	w := &watched{}
	c, p := newPeerOf(t, "1.220.0", func(stdout io.Reader, stdin io.WriteCloser) *Client {
		return NewClientWithSettings(stdout, stdin, w.write, nil)
	})
	require.NoError(t, c.SetRuntime(Runtime{CWD: t.TempDir(), MCPServers: []stream.MCPServer{{Name: "b", URL: "http://b/?key=" + secret}}}))
	opened := async(initialize(c))
	m := p.expect(methodVersion)
	require.False(t, w.has(), "droid has not said anything yet")
	p.refuse(`"`+m.ID+`"`, -32601, "no such method")
	m = p.expect(methodInitialize)
	require.True(t, w.has())
	p.reply(m.ID, `{"sessionId":"s"}`)
	require.NoError(t, <-opened)
}

// A process that has ended has its file changed no more.
func TestSecretsOfADroidThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, w := withSecrets(t, "1.220.0")
		opens(t, p, w, methodInitialize, initialize(c))
		writes := w.writes
		p.out.Close()
		<-c.Exited()
		time.Sleep(2 * defaultBounds.late)
		synctest.Wait()
		require.Equal(t, writes, w.writes)
	})
}

// A subagent before 0.215 is a separate droid, and reads the file at its start.
func TestSecretsOfSubagents(t *testing.T) {
	c, p, w := withSecrets(t, "1.15.0")
	opens(t, p, w, methodInitialize, initialize(c))
	says := func(body string, there bool) {
		t.Helper()
		p.notify(body)
		<-c.Events()
		require.Equal(t, there, w.has(), body)
	}
	task := func(id string) string {
		return `{"type":"tool_call","toolUse":{"type":"tool_use","id":"` + id + `","name":"Task","input":{}}}`
	}
	begun := func(id string) string {
		return `{"type":"tool_progress_update","toolUseId":"` + id + `","toolName":"Task","update":{"type":"status","details":"session: x"}}`
	}
	result := func(id string) string { return `{"type":"tool_result","toolUseId":"` + id + `","content":"done"}` }

	says(`{"type":"tool_call","toolUse":{"type":"tool_use","id":"r","name":"Read","input":{}}}`, false)
	says(task("1"), true)
	says(task("1"), true)
	says(begun("1"), false)
	says(begun("1"), false)
	says(task("1"), false) // droid repeats the call before its result (0.99)
	says(result("1"), false)

	says(task("2"), true)
	says(task("3"), true)
	says(begun("3"), true)
	says(result("2"), false) // refused

	says(task("4"), true)
	says(`{"type":"droid_working_state_changed","newState":"idle"}`, false)

	c, p, w = withSecrets(t, "1.206.0")
	opens(t, p, w, methodInitialize, initialize(c))
	p.notify(`{"type":"droid_working_state_changed","newState":"thinking"}`)
	<-c.Events()
	says(task("1"), false)
}

// A file that cannot be given its servers back opens no session: droid would end them.
func TestServersThatCannotBePutBack(t *testing.T) {
	c, p, w := withSecrets(t, "1.15.0")
	opens(t, p, w, methodInitialize, initialize(c))
	w.fails = true
	require.ErrorContains(t, load(c)(), "no memory")
	w.fails = false
	opens(t, p, w, methodLoad, load(c))
}
