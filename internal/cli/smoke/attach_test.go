package smoke

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// watch attaches to a script and returns a terminal's output and the error. What the script writes to typed are the keys that a person
// presses; there are none if it only watches.
func watch(t *testing.T, watching bool, script func(a *scriptedAgent, typed io.Writer, leave func())) (shown string, err error) {
	t.Helper()
	return attachTo(t, AttachOptions{Session: "s", CWD: "/w"}, watching, script)
}

func attachTo(t *testing.T, o AttachOptions, watching bool, script func(a *scriptedAgent, typed io.Writer, leave func())) (shown string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { shown, err = attachInBubble(t, o, watching, script) })
	return shown, err
}

func attachInBubble(t *testing.T, o AttachOptions, watching bool, script func(a *scriptedAgent, typed io.Writer, leave func())) (shown string, err error) {
	in, clientOut := io.Pipe()
	clientIn, out := io.Pipe()
	typed, keys := io.Pipe()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer out.Close()
		script(&scriptedAgent{t: t, in: bufio.NewScanner(in), out: out}, keys, leave)
	}()
	w := &screenText{columns: 120}
	if !watching {
		o.Terminal = &Terminal{typed, w.size}
	}
	err = Attach(ctx, clientIn, clientOut, w, o)
	_ = clientOut.Close()
	_ = clientIn.Close()
	_ = keys.Close()
	<-done
	if watching {
		return w.written.String(), err
	}
	return w.String(), err
}

func (a *scriptedAgent) asks(id, permission string) {
	a.say(`{"jsonrpc":"2.0","id":%q,"method":"session/request_permission","params":%s}`, id, permission)
	synctest.Wait() // it is shown
}

// joined is the conversation up to the answer to session/load, before which comes what was said.
func (a *scriptedAgent) joined(said ...string) {
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

const permission = `{"toolCall":{"toolCallId":"t","title":"Run \u001b[2J it"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}`

const other = `{"toolCall":{"toolCallId":"u","title":"Other"},"options":[{"optionId":"o","name":"Often","kind":"allow_once"}]}`

// One who attaches sees what was said and what comes, answers, and prompts.
func TestAttach(t *testing.T) {
	shown, err := watch(t, false, func(a *scriptedAgent, typed io.Writer, _ func()) {
		a.joined(text("user_message_chunk", "do it"), text("agent_message_chunk", "Doing"))
		a.update(text("agent_message_chunk", "live"))
		a.asks("ask", permission)
		a.say(`{"jsonrpc":"2.0","id":9,"method":"fs/read_text_file","params":{}}`)
		require.NotNil(t, a.hear().Error)
		enters(t, typed, "3")
		enters(t, typed, "2")
		require.JSONEq(t, `{"outcome":{"outcome":"selected","optionId":"n"}}`, string(a.hear().Result))
		enters(t, typed, "")
		enters(t, typed, " 1 more ")
		p := a.hears("session/prompt")
		require.JSONEq(t, `{"sessionId":"s","prompt":[{"type":"text","text":"1 more"}]}`, string(p.Params))
		a.ends(p, "end_turn")
		synctest.Wait()
		for _, line := range []string{"7", "8", "7", "7"} {
			enters(t, typed, line)
		}
		p = a.hears("session/prompt")
		require.Contains(t, string(p.Params), `"7"`, "no question waits")
		a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no model"}}`, p.ID)
		a.update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hi"},"_meta":{"droid-acp":{"client":"Zed"}}}`)
		a.update(`{"sessionUpdate":"session_info_update","_meta":{"droid-acp":{"stopReason":"end_turn"}}}`)
		synctest.Wait()
		press(t, typed, "x", "\x7f", "\x04")
		a.hear()
	})
	require.NoError(t, err)
	require.Equal(t, `you     | do it
agent   | Doing
joined  | what comes now is live; Enter sends a prompt, Alt-Enter or Ctrl-J begins a new line in it, a number answers
        | what is asked, Ctrl-C cancels the turn and twice leaves, Ctrl-D leaves; the session goes on
agent   | live
ask     | Run \x1b[2J it
        | 1. Yes
        | 2. No
1-2 (Run \x1b[2J it)> 3
        | type a number from 1 to 2
1-2 (Run \x1b[2J it)> 2
answer  | No
>
>  1 more
turn    | ended with end_turn
> 7
        | nothing is asked now; to send 7 as a prompt, enter it again
> 8
        | nothing is asked now; to send 8 as a prompt, enter it again
> 7
        | nothing is asked now; to send 7 as a prompt, enter it again
> 7
failed  | no model
you     | (in Zed) hi
turn    | ended with end_turn
`, shown)
}

// A number answers a question only if it was typed, by itself, while that question was shown as being asked.
func TestOnlyATypedNumberAnswers(t *testing.T) {
	shown, err := watch(t, false, func(a *scriptedAgent, typed io.Writer, _ func()) {
		a.joined()
		press(t, typed, "1")
		a.asks("a", permission)
		press(t, typed, "\r") // begun before
		press(t, typed, pasteBegin+"1"+pasteEnd, "\r")
		press(t, typed, "1\r") // a terminal that does not mark what is pasted
		press(t, typed, pasteBegin+"rm\r1\r2\r"+pasteEnd, "\r")
		require.JSONEq(t, `[{"type":"text","text":"rm\n1\n2"}]`, string(prompted(a)))
		a.asks("b", other)
		enters(t, typed, "1") // of the one that is shown
		answer := a.hear()
		require.Equal(t, `"a"`, string(answer.ID))
		require.JSONEq(t, `{"outcome":{"outcome":"selected","optionId":"y"}}`, string(answer.Result))
		press(t, typed, "1")
		a.say(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"b"}}`)
		synctest.Wait()
		a.asks("c", other)
		press(t, typed, "\r") // begun when another one was shown
		enters(t, typed, "1")
		require.Equal(t, `"c"`, string(a.hear().ID))
		press(t, typed, "\x04")
		a.hear()
	})
	require.NoError(t, err)
	require.Equal(t, `ask     | Run \x1b[2J it
        | 1. Yes
        | 2. No
1-2 (Run \x1b[2J it)> 1
        | you began to type before this question was shown; type it again
1-2 (Run \x1b[2J it)> 1
        | a number that is pasted, or comes together with other keys, is no answer; type it again
1-2 (Run \x1b[2J it)> 1
        | a number that is pasted, or comes together with other keys, is no answer; type it again
`, shown[strings.Index(shown, "ask  "):strings.Index(shown, "1-2 (Run \\x1b[2J it)> rm")])
	require.Contains(t, shown, `1-2 (Run \x1b[2J it)> rm⏎1⏎2⏎
        | another question waits behind this one (2 in all)
1-2 (Run \x1b[2J it)> 1
answer  | Yes
ask     | Other
        | 1. Often
`)
	require.Contains(t, shown, `answer  | (given elsewhere, or no longer asked)
ask     | Other
        | 1. Often
1-1 (Other)> 1
        | you began to type before this question was shown; type it again
1-1 (Other)> 1
answer  | Often
`)
}

// prompted is the prompt that the client sends next.
func prompted(a *scriptedAgent) json.RawMessage {
	var p struct{ Prompt json.RawMessage }
	require.NoError(a.t, json.Unmarshal(a.hears("session/prompt").Params, &p))
	return p.Prompt
}

// Ctrl-C cancels the turn. The second one in a row leaves, and one behind another key does not.
func TestAttachInterrupts(t *testing.T) {
	shown, err := watch(t, false, func(a *scriptedAgent, typed io.Writer, _ func()) {
		a.joined()
		press(t, typed, "a", "\x03")
		require.JSONEq(t, `{"sessionId":"s"}`, string(a.hears("session/cancel").Params))
		press(t, typed, "b", "\x03")
		a.hears("session/cancel")
		press(t, typed, "\x03")
		a.hear()
	})
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(shown, "what runs here is cancelled; Ctrl-C once more leaves, and the session goes on"))
}

// Without a session a new one is begun.
func TestAttachNew(t *testing.T) {
	shown, err := attachTo(t, AttachOptions{CWD: "/w"}, false, func(a *scriptedAgent, typed io.Writer, _ func()) {
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}`, a.hears("initialize").ID)
		begin := a.hears("session/new")
		require.JSONEq(t, `{"cwd":"/w","mcpServers":[]}`, string(begin.Params))
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"n"}}`, begin.ID)
		enters(t, typed, "go")
		require.JSONEq(t, `{"sessionId":"n","prompt":[{"type":"text","text":"go"}]}`, string(a.hears("session/prompt").Params))
		press(t, typed, "\x04")
		a.hear()
	})
	require.NoError(t, err)
	require.Contains(t, shown, "begun   | session n in /w; ")
	_, err = attachTo(t, AttachOptions{CWD: "/w"}, false, func(a *scriptedAgent, _ io.Writer, _ func()) {
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}`, a.hears("initialize").ID)
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, a.hears("session/new").ID)
		a.hear()
	})
	require.EqualError(t, err, "no session can be begun in /w: the agent's answer names no session")
}

// A question that another one answers goes, and so does one who watches.
func TestAttachAndWatch(t *testing.T) {
	shown, err := watch(t, true, func(a *scriptedAgent, _ io.Writer, leave func()) {
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
	_, err := watch(t, true, func(a *scriptedAgent, _ io.Writer, _ func()) {
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, a.hears("initialize").ID)
		a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"it is not there"}}`, a.hears("session/load").ID)
	})
	require.EqualError(t, err, "session s cannot be joined: it is not there")
	_, err = watch(t, true, func(a *scriptedAgent, _ io.Writer, _ func()) { a.joined() })
	require.EqualError(t, err, "the server has closed the connection")
	_, err = watch(t, true, func(a *scriptedAgent, _ io.Writer, _ func()) { a.hear(); a.say("noise"); a.hear() })
	require.ErrorContains(t, err, "session s cannot be joined")
}
