package fakedroid

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client drives a fake over pipes. It reads line by line, so the fake never
// runs ahead of the test by more than one line.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
	ids  int
	seen []string // short names of what the fake wrote
}

// line is one message of the fake.
type line struct {
	ID     *string         `json:"id"`
	Type   string          `json:"type"`
	Proto  string          `json:"factoryProtocolVersion"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
	Params struct {
		SessionID    string         `json:"sessionId"`
		Notification map[string]any `json:"notification"`
		ToolUses     []any          `json:"toolUses"`
		Options      []struct {
			Value string `json:"value"`
		} `json:"options"`
	} `json:"params"`
}

// name is how the tests write a message: a state as S:…, a message as CM role,
// a request without its prefix, a response as RESP or ERR.
func (l line) name() string {
	switch {
	case l.Error != nil:
		return "ERR"
	case l.Type == "response":
		return "RESP"
	case l.Type == "request":
		return strings.TrimPrefix(l.Method, "droid.")
	}
	n := l.Params.Notification
	kind, _ := n["type"].(string)
	switch kind {
	case "droid_working_state_changed":
		return "S:" + n["newState"].(string)
	case "create_message":
		m := n["message"].(map[string]any)
		return "CM " + m["role"].(string)
	}
	return kind
}

func start(t *testing.T, s Script, options ...Option) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, out: bufio.NewReader(outR), done: make(chan error, 1)}
	go func() {
		err := Run(inR, outW, s, options...)
		_ = outW.CloseWithError(io.EOF)
		c.done <- err
	}()
	t.Cleanup(func() {
		_ = inW.Close()
		_ = outR.Close()
	})
	return c
}

func (c *client) write(text string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, text+"\n")
	require.NoError(c.t, err)
}

func (c *client) request(method string, params any) string {
	c.t.Helper()
	c.ids++
	id := strconv.Itoa(c.ids)
	c.send(Fields{"type": "request", "id": id, "method": "droid." + method, "params": params})
	return id
}

func (c *client) send(f Fields) {
	c.t.Helper()
	f["jsonrpc"], f["factoryApiVersion"] = "2.0", "1.0.0"
	text, err := json.Marshal(f)
	require.NoError(c.t, err)
	c.write(string(text))
}

func (c *client) answer(l line, option string) {
	c.t.Helper()
	c.send(Fields{"type": "response", "id": *l.ID, "result": Fields{"selectedOption": option}})
}

func (c *client) next() line {
	c.t.Helper()
	text, err := c.out.ReadString('\n')
	require.NoError(c.t, err)
	var l line
	require.NoError(c.t, json.Unmarshal([]byte(text), &l), "%.200s", text)
	c.seen = append(c.seen, l.name())
	return l
}

// until reads up to a message of this name and returns it.
func (c *client) until(name string) line {
	c.t.Helper()
	for {
		if l := c.next(); l.name() == name {
			return l
		}
	}
}

// init starts a session and forgets what was seen.
func (c *client) init(params Fields) line {
	c.t.Helper()
	all := Fields{"machineId": "m1", "cwd": "/w"}
	for k, v := range params {
		all[k] = v
	}
	c.request("initialize_session", all)
	l := c.until("RESP")
	c.seen = nil
	return l
}

// finish closes the input and returns the error of Run.
func (c *client) finish() error {
	c.t.Helper()
	require.NoError(c.t, c.in.Close())
	_, _ = io.Copy(io.Discard, c.out)
	return <-c.done
}
