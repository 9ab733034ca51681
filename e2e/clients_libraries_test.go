//go:build e2e && linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// clientEvent is one line of output of a client in testdata/clients.
type clientEvent struct{ Event, ID, Text, Title, Status string }

// libraryClient is a running client of testdata/clients, with an agent whose messages are recorded.
type libraryClient struct {
	t      *testing.T // of the step that runs
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *bytes.Buffer // read it after the end only
	exited chan struct{}
	killed bool
	wire   recording // without a directory where a server runs the agents

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each event
	events  []clientEvent
	ended   bool
}

// startClient runs a client with the agent.
func startClient(t *testing.T, h home, command []string) *libraryClient {
	t.Helper()
	wire, env, agent := newRecording(t)
	return startClientOn(t, h, wire, env, slices.Concat(command, []string{agent, "--droid", h.droid}))
}

// startClientOn runs a client whose agent's messages are recorded elsewhere.
func startClientOn(t *testing.T, h home, wire recording, env, command []string) *libraryClient {
	t.Helper()
	c := &libraryClient{t: t, stderr: &bytes.Buffer{}, exited: make(chan struct{}), wire: wire, changed: make(chan struct{})}
	c.cmd = exec.Command(command[0], command[1:]...)
	c.cmd.Dir, c.cmd.Env, c.cmd.Stderr = h.work, slices.Concat(h.env, env), c.stderr
	var err error
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	go func() {
		defer close(c.exited)
		c.read(stdout)
		_ = c.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() { c.t = t; c.end(h) })
	return c
}

func (c *libraryClient) read(stdout io.Reader) {
	for in := bufio.NewScanner(stdout); in.Scan(); {
		e := clientEvent{Event: "error", Text: in.Text()} // unless it is an event
		_ = json.Unmarshal(in.Bytes(), &e)
		c.note(func() { c.events = append(c.events, e) })
	}
	c.note(func() { c.ended = true })
}

func (c *libraryClient) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

// end closes the client's stdin and checks that it, the agent and droid exit cleanly, and that the client reported no errors.
func (c *libraryClient) end(h home) {
	c.t.Helper()
	_ = c.stdin.Close()
	select {
	case <-c.exited:
	case <-time.After(20 * time.Second):
		c.t.Error("the client does not end after its stdin was closed")
		_ = c.cmd.Process.Kill()
		<-c.exited
	}
	h.awaitNoneLeft(c.t, leavingLimit, func(p process) bool { return c.wire.dir != "" || p.droid })
	if !c.killed && (!c.cmd.ProcessState.Success() || c.stderr.Len() > 0) {
		c.t.Errorf("the client ended with %v and wrote to stderr:\n%s", c.cmd.ProcessState, c.stderr)
	}
	if c.t.Failed() {
		c.t.Logf("what the client showed:\n%s", strings.Join(shown(c.seen(0)), "\n"))
		if c.wire.dir != "" {
			c.t.Logf("the last lines of the agent:\n%s", c.wire.tail(c.t))
		}
	}
}

func (c *libraryClient) do(command string, fields map[string]string) {
	c.t.Helper()
	line := map[string]string{"do": command}
	for name, value := range fields {
		line[name] = value
	}
	data, err := json.Marshal(line)
	require.NoError(c.t, err)
	_, err = c.stdin.Write(append(data, '\n'))
	require.NoError(c.t, err)
}

// seen returns the events from number from on.
func (c *libraryClient) seen(from int) []clientEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events[from:])
}

// await waits for an event of a kind, from number from on, and returns the events up to it. The limit allows for a droid that starts while
// others do.
func (c *libraryClient) await(kind string, from int) []clientEvent {
	c.t.Helper()
	timeout := time.After(2 * turnLimit)
	for {
		c.mu.Lock()
		events, changed, ended := c.events[from:], c.changed, c.ended
		c.mu.Unlock()
		for i, e := range events {
			if e.Event == "error" {
				require.Fail(c.t, "the client got an error", "%+v", e)
			}
			if e.Event == kind {
				return events[:i+1]
			}
		}
		require.False(c.t, ended, "the client ended; waiting for %q", kind)
		select {
		case <-changed:
		case <-timeout:
			require.Fail(c.t, "timeout", "waiting for %q", kind)
		}
	}
}

// kill kills the client.
func (c *libraryClient) kill() {
	c.t.Helper()
	c.killed = true
	require.NoError(c.t, c.cmd.Process.Kill())
	<-c.exited
}

// awaitText waits until the agent has sent a text, and returns all of its text.
func (c *libraryClient) awaitText(text string) string {
	c.t.Helper()
	for {
		events := c.seen(0)
		if said := textOf("agent", events); strings.Contains(said, text) {
			return said
		}
		c.await("agent", len(events))
	}
}

// open opens a session, or loads the one with the id, and returns its id.
func (c *libraryClient) open(id string) string {
	c.t.Helper()
	if id == "" {
		c.do("new", nil)
	} else {
		c.do("load", map[string]string{"id": id})
	}
	events := c.await("open", 0)
	return events[len(events)-1].ID
}

// begin starts a turn, and returns the number of its first event.
func (c *libraryClient) begin(text, permit string) int {
	c.t.Helper()
	from := len(c.seen(0))
	c.do("prompt", map[string]string{"text": text, "permit": permit})
	return from
}

// turn plays a turn to its end, and returns its events.
func (c *libraryClient) turn(text, permit string) []clientEvent {
	c.t.Helper()
	return c.await("stop", c.begin(text, permit))
}

// shown returns a conversation as a person reads it: the text of each side, and the last title and status of each tool, at its first
// appearance.
func shown(events []clientEvent) []string {
	var out []string
	tools := map[string]*clientEvent{}
	var order []func() string
	last := ""
	for _, e := range events {
		switch e.Event {
		case "user", "agent", "thought":
			if e.Event == last {
				previous, text := order[len(order)-1], e.Text
				order[len(order)-1] = func() string { return previous() + text }
			} else {
				text := strings.TrimLeft(e.Text, "\n") // what keeps it apart from the message before
				order = append(order, func() string { return e.Event + ": " + text })
			}
			last = e.Event
		case "tool":
			tool := tools[e.ID]
			if tool == nil {
				tool = &clientEvent{}
				tools[e.ID] = tool
				order = append(order, func() string { return fmt.Sprintf("tool: %s (%s)", tool.Title, tool.Status) })
				last = ""
			}
			if e.Title != "" {
				tool.Title = e.Title
			}
			if e.Status != "" {
				tool.Status = e.Status
			}
		}
	}
	for _, line := range order {
		out = append(out, line())
	}
	return out
}

// withoutDialogs omits text that the agent sends only for a decision, to clients that may not show the content of a permission request. No
// history has it.
func withoutDialogs(events []clientEvent) []clientEvent {
	return slices.DeleteFunc(slices.Clone(events), func(e clientEvent) bool {
		text := strings.TrimSpace(e.Text)
		return e.Event == "agent" && (strings.HasPrefix(text, "Risk: ") || strings.HasPrefix(text, "“Always” "))
	})
}

// textOf returns all text of one side.
func textOf(who string, events []clientEvent) string {
	var b strings.Builder
	for _, e := range events {
		if e.Event == who {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// tail returns the end of the agent's output, for a failed test.
func (r recording) tail(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	lines := r.lines(t, fromAgent)
	for _, l := range lines[max(0, len(lines)-40):] {
		fmt.Fprintf(&b, "%.400s\n", l)
	}
	return b.String()
}

// stops returns the agent's recorded stop reasons.
func (r recording) stops(t *testing.T) (reasons []string) {
	t.Helper()
	for _, l := range r.lines(t, fromAgent) {
		var m struct{ Result struct{ StopReason string } }
		require.NoError(t, json.Unmarshal(l, &m))
		if m.Result.StopReason != "" {
			reasons = append(reasons, m.Result.StopReason)
		}
	}
	return reasons
}

// lastReason is the agent's last stop reason.
func (c *libraryClient) lastReason() string {
	c.t.Helper()
	var reasons []string
	if c.wire.dir != "" {
		reasons = c.wire.stops(c.t)
	} else { // the client's word for it
		for _, e := range c.seen(0) {
			if e.Event == "stop" {
				reasons = append(reasons, e.Text)
			}
		}
	}
	require.NotEmpty(c.t, reasons)
	return reasons[len(reasons)-1]
}

// nodeClient is the command of a script of testdata/clients.
func nodeClient(script string) []string {
	return []string{programs.Node, filepath.Join(programs.Clients, script)}
}

func TestClientTypeScriptSDK(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		clientSteps(t, model, h, nodeClient("sdk.mjs"))
	})
}

func TestClientFactory(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		clientSteps(t, model, h, nodeClient("factory.mjs"))
	})
}

func TestClientGoSDK(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		clientSteps(t, model, h, []string{programs.GoSDK})
	})
}

// longText has one number a word, so that a lost piece shows.
func longText() string {
	var b strings.Builder
	for i := range 150 {
		fmt.Fprintf(&b, "%d ", i)
	}
	return b.String() + "is TANGERINE."
}

// scriptSteps sets the model's answers to the prompts of the steps that each client executes.
func scriptSteps(model *modelserver.Server) {
	model.On("remember", modelserver.Step{Thinking: "A word. ", Text: longText(), Delay: 2 * time.Millisecond})
	for _, name := range []string{"allowed", "refused"} {
		model.On("touch "+name, modelserver.Step{Text: "I touch it. ", Tools: []modelserver.ToolCall{execute(name, "touch "+name)}},
			modelserver.Step{Text: "It is there."})
	}
	model.On("sleep", modelserver.Step{Text: "I sleep. ", Tools: []modelserver.ToolCall{execute("sleep", "sleep 299")}})
	model.On("still", modelserver.Step{Text: "Still here."})
	model.On("which", modelserver.Step{Text: "It was TANGERINE."})
}

// clientSteps takes a client through a prompt, permissions, a cancelled tool, and a load
// by a second process.
func clientSteps(t *testing.T, model *modelserver.Server, h home, command []string) {
	stepsOf(t, model, h, func() *libraryClient { return startClient(t, h, command) })
}

// stepsOf is clientSteps for clients that start starts.
func stepsOf(t *testing.T, model *modelserver.Server, h home, start func() *libraryClient) {
	scriptSteps(model)
	c := start()
	step := func(name string, run func(t *testing.T)) {
		if !t.Run(name, func(t *testing.T) { c.t = t; run(t) }) {
			t.FailNow()
		}
	}
	var id string
	step("prompt", func(t *testing.T) {
		id = c.open("")
		events := c.turn("remember the word", "")
		require.Equal(t, longText(), textOf("agent", events))
		require.Greater(t, len(events), 4, "the text comes in pieces")
		require.Equal(t, "end_turn", c.lastReason())
	})
	step("allow", func(t *testing.T) {
		events := c.turn("touch allowed", "allow_once")
		require.Contains(t, textOf("agent", events), "It is there.")
		require.FileExists(t, filepath.Join(h.work, "allowed"))
		require.Contains(t, shown(events), "tool: touch allowed (completed)")
	})
	step("refuse", func(t *testing.T) {
		events := c.turn("touch refused", "reject_once")
		require.NotContains(t, textOf("agent", events), "It is there.")
		require.NoFileExists(t, filepath.Join(h.work, "refused"))
		require.Contains(t, shown(events), "tool: touch refused (failed)")
	})
	step("cancel", func(t *testing.T) {
		from := c.begin("sleep well", "allow_once")
		h.awaitProcess(t, "sleep 299")
		c.do("cancel", nil)
		c.await("stop", from)
		require.Equal(t, "cancelled", c.lastReason())
		h.awaitNone(t, turnLimit, func(p process) bool { return strings.Contains(p.command, "sleep 299") })
		require.Equal(t, "Still here.", textOf("agent", c.turn("still there?", "")))
		require.Equal(t, "end_turn", c.lastReason())
	})
	step("load", func(t *testing.T) {
		c.end(h)
		c.checkWire()
		live := withoutDialogs(c.seen(0))
		c = start()
		c.t = t
		require.Equal(t, id, c.open(id))
		require.Equal(t, shown(live), shown(c.seen(0)), "the history shows what was seen live")
		answer := textOf("agent", c.turn("which word was it?", ""))
		require.Equal(t, "It was TANGERINE.", strings.TrimLeft(answer, "\n"), "apart from what was loaded, where the client gives itself no name")
		knowsConversation(t, model)
		c.checkWire()
	})
}

// checkWire checks the agent's messages against the schema, if they are recorded.
func (c *libraryClient) checkWire() {
	c.t.Helper()
	if c.wire.dir != "" {
		require.Positive(c.t, c.wire.check(c.t))
	}
}

// knowsConversation checks that the model was sent the whole conversation with the last
// prompt.
func knowsConversation(t *testing.T, model *modelserver.Server) {
	t.Helper()
	for _, r := range slices.Backward(model.Requests()) {
		if r.Prompt != "which" || r.Side {
			continue
		}
		sent, err := json.Marshal(r.Messages)
		require.NoError(t, err)
		for _, part := range []string{"remember the word", "is TANGERINE.", "touch allowed", "It is there.", "sleep well", "which word was it?"} {
			require.Contains(t, string(sent), part)
		}
		return
	}
	require.Fail(t, "the model got no request for the last prompt")
}
