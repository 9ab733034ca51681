package smoke

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// watch attaches to a script and returns what was shown and the error. What the script writes to
// typed is what a person types; nil for one who watches.
func watch(t *testing.T, watching bool, script func(a *agent, typed io.Writer, leave func())) (shown string, err error) {
	t.Helper()
	in, clientOut := io.Pipe()
	clientIn, out := io.Pipe()
	typed, keys := io.Pipe()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	done := make(chan struct{})
	go func() {
		defer close(done)
		script(&agent{t: t, in: bufio.NewScanner(in), out: out}, keys, leave)
		_ = out.Close()
	}()
	o := AttachOptions{Session: "s", CWD: "/w", Typed: typed}
	if watching {
		o.Typed = nil
	}
	var w bytes.Buffer
	err = Attach(ctx, clientIn, clientOut, &w, o)
	_ = clientOut.Close()
	_ = clientIn.Close()
	_ = keys.Close()
	<-done
	return w.String(), err
}

// joined is the conversation up to the answer to session/load, before which comes what was said.
func (a *agent) joined(said ...string) {
	a.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}`, a.hears("initialize").ID)
	load := a.hears("session/load")
	require.JSONEq(a.t, `{"sessionId":"s","cwd":"/w","mcpServers":[]}`, string(load.Params))
	for _, update := range said {
		a.update(update)
	}
	a.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, load.ID)
}

func text(kind, text string) string {
	return `{"sessionUpdate":"` + kind + `","content":{"type":"text","text":"` + text + `"}}`
}

func types(t *testing.T, to io.Writer, line string) {
	_, err := io.WriteString(to, line+"\n")
	require.NoError(t, err)
}

const permission = `{"toolCall":{"toolCallId":"t","title":"Run \u001b[2J it"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}`

// One who attaches sees what was said and what comes, answers, and prompts.
func TestAttach(t *testing.T) {
	shown, err := watch(t, false, func(a *agent, typed io.Writer, _ func()) {
		a.joined(text("user_message_chunk", "do it"), text("agent_message_chunk", "Doing"))
		a.update(text("agent_message_chunk", "live"))
		a.say(`{"jsonrpc":"2.0","id":"ask","method":"session/request_permission","params":%s}`, permission)
		a.say(`{"jsonrpc":"2.0","id":9,"method":"fs/read_text_file","params":{}}`)
		require.NotNil(t, a.hear().Error)
		types(t, typed, "3")
		types(t, typed, "2")
		require.JSONEq(t, `{"outcome":{"outcome":"selected","optionId":"n"}}`, string(a.hear().Result))
		types(t, typed, "")
		types(t, typed, " 1 more ")
		p := a.hears("session/prompt")
		require.JSONEq(t, `{"sessionId":"s","prompt":[{"type":"text","text":"1 more"}]}`, string(p.Params))
		a.ends(p, "cancelled")
		a.say(`{"jsonrpc":"2.0","id":11,"method":"x"}`)
		a.hear() // that was heard
		types(t, typed, "7")
		types(t, typed, "8")
		types(t, typed, "7")
		types(t, typed, "7")
		p = a.hears("session/prompt")
		require.Contains(t, string(p.Params), `"7"`, "no question waits")
		a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no model"}}`, p.ID)
		a.update(`{"sessionUpdate":"session_info_update","_meta":{"droid-acp":{"stopReason":"end_turn"}}}`)
		a.say(`{"jsonrpc":"2.0","id":10,"method":"x"}`)
		a.hear()
		require.NoError(t, typed.(io.Closer).Close())
		a.hear()
	})
	require.NoError(t, err)
	require.Equal(t, `you     | do it
agent   | Doing
joined  | what comes now is live; a line is a prompt, a number answers a question, Ctrl-C leaves, and the session goes on
agent   | live
ask     | Run \x1b[2J it
        | 1. Yes
        | 2. No
        | type a number from 1 to 2
answer  | No
turn    | ended with cancelled
        | nothing is asked now; to send 7 as a prompt, type it again
        | nothing is asked now; to send 8 as a prompt, type it again
        | nothing is asked now; to send 7 as a prompt, type it again
failed  | no model
`, shown)
}

// A question that another one answers goes, and so does one who watches.
func TestAttachAndWatch(t *testing.T) {
	shown, err := watch(t, true, func(a *agent, _ io.Writer, leave func()) {
		a.joined()
		a.say(`{"jsonrpc":"2.0","id":"ask","method":"session/request_permission","params":%s}`, permission)
		a.say(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		a.hear()
		a.say(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"ask"}}`)
		a.say(`{"jsonrpc":"2.0","id":2,"method":"x"}`)
		a.hear()
		leave()
		a.hear()
	})
	require.NoError(t, err)
	require.Contains(t, shown, "joined  | what comes now is live; Ctrl-C leaves, and the session goes on\n")
	require.Contains(t, shown, "        | 2. No\n")
}

func TestAttachFails(t *testing.T) {
	_, err := watch(t, true, func(a *agent, _ io.Writer, _ func()) {
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, a.hears("initialize").ID)
		a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"it is not there"}}`, a.hears("session/load").ID)
	})
	require.EqualError(t, err, "session s cannot be joined: it is not there")
	_, err = watch(t, true, func(a *agent, _ io.Writer, _ func()) { a.joined() })
	require.EqualError(t, err, "the server has closed the connection")
	_, err = watch(t, true, func(a *agent, _ io.Writer, _ func()) { a.hear(); a.say("noise"); a.hear() })
	require.ErrorContains(t, err, "session s cannot be joined")
}
