package smoke

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"droid-acp/internal/testing/acptest"

	"github.com/stretchr/testify/require"
)

// message is any JSON-RPC line.
type message = acptest.Message

// agent is a scripted one: it answers the methods of a client in order, and does
// what the script says with the prompt.
type agent struct {
	t   *testing.T
	in  *bufio.Scanner
	out io.Writer
	got []message // requests, notifications and answers of the client
}

// say writes a line.
func (a *agent) say(format string, args ...any) {
	_, err := fmt.Fprintf(a.out, format+"\n", args...)
	if err != nil {
		a.t.Logf("the client is gone: %v", err)
	}
}

func (a *agent) update(update string) {
	a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}`, update)
}

// hear takes a line of the client's.
func (a *agent) hear() (m message) {
	if a.in.Scan() {
		require.NoError(a.t, json.Unmarshal(a.in.Bytes(), &m))
		a.got = append(a.got, m)
	}
	return m
}

// hears takes a request of this method.
func (a *agent) hears(method string) message {
	m := a.hear()
	require.Equal(a.t, method, m.Method)
	return m
}

// ask asks for permission and returns the client's answer.
func (a *agent) ask(params string) string {
	a.say(`{"jsonrpc":"2.0","id":"ask","method":"session/request_permission","params":%s}`, params)
	m := a.hear()
	require.Equal(a.t, `"ask"`, string(m.ID))
	return string(m.Result)
}

// opened is the conversation up to the prompt, which it returns.
func (a *agent) opened(mode string) message {
	a.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}`, a.hears("initialize").ID)
	a.say(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}`, a.hears("session/new").ID)
	if mode != "" {
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, a.hears("session/set_mode").ID)
	}
	return a.hears("session/prompt")
}

func (a *agent) ends(prompt message, stop string) {
	a.say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":%q}}`, prompt.ID, stop)
}

// one is a single prompt, of which nothing is expected.
func one(text string) []Prompt { return []Prompt{{Text: text}} }

// talk runs the client against a script and returns what it showed, without the
// summary, and the result.
func talk(t *testing.T, o Options, script func(a *agent)) (shown string, r *Result) {
	shown, r = talkWhole(t, o, script)
	shown, _, _ = strings.Cut(shown, "summary | ")
	return shown, r
}

func talkWhole(t *testing.T, o Options, script func(a *agent)) (shown string, r *Result) {
	t.Helper()
	in, clientOut := io.Pipe()
	clientIn, out := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		a := &agent{t: t, in: bufio.NewScanner(in), out: out}
		script(a)
		_ = out.Close()
	}()
	var w bytes.Buffer
	r = Run(context.Background(), clientIn, clientOut, &w, o)
	_ = clientOut.Close()
	_ = clientIn.Close()
	<-done
	return w.String(), r
}

func TestConversation(t *testing.T) {
	shown, r := talk(t, Options{Prompts: one("do it\nnow"), CWD: "/w", Mode: "spec", Allow: Refuse}, func(a *agent) {
		p := a.opened("spec")
		require.JSONEq(t, `{"sessionId":"s","prompt":[{"type":"text","text":"do it\nnow"}]}`, string(p.Params))
		require.JSONEq(t, `{"cwd":"/w","mcpServers":[]}`, string(a.got[1].Params))
		require.JSONEq(t, `{"sessionId":"s","modeId":"spec"}`, string(a.got[2].Params))
		a.update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`)
		a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"One\nT"}}`)
		a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"wo"}}`)
		a.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run it","status":"pending"}`)
		a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","content":[{"type":"content","content":{"type":"text","text":"out\nput"}},{"type":"diff","path":"/w/a","oldText":null,"newText":"new"}]}`)
		a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"Renamed"}`)
		a.update(`{"sessionUpdate":"current_mode_update","currentModeId":"normal"}`)
		a.update(`{"sessionUpdate":"session_info_update","title":"A title"}`)
		a.update(`{"sessionUpdate":"something_new"}`)
		a.ends(p, "end_turn")
	})
	require.Equal(t, Passed, r.Outcome)
	require.Equal(t, "end_turn", r.Prompts[0].StopReason)
	require.Equal(t, "One\nTwo", r.Prompts[0].Answer)
	require.Equal(t, []ToolCall{{ID: "t", Title: "Renamed", Status: "completed"}}, r.Prompts[0].ToolCalls)
	require.Equal(t, `you     | do it
        | now
thought | hm
agent   | One
        | Two
tool    | Run it [pending]
tool    | Run it [completed]
        |   out
        |   put
        |   --- /dev/null
        |   +++ /w/a
        |   @@ -0,0 +1 @@
        |   +new
        |   \ No newline at end of file
tool    | Renamed
mode    | normal
title   | A title
`, shown)
}

const twoOptions = `{"sessionId":"s","toolCall":{"toolCallId":"t","title":"rm","content":[{"type":"content","content":{"type":"text","text":"rm -rf x"}}]},"options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"once","name":"Once","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}`

// TestPolicies: nothing is allowed but by the policy that allows, and no more than
// once.
func TestPolicies(t *testing.T) {
	onlyAlways := `{"sessionId":"s","toolCall":{},"options":[{"optionId":"always","name":"Always","kind":"allow_always"}]}`
	selected := func(id string) string { return `{"outcome":{"outcome":"selected","optionId":"` + id + `"}}` }
	const cancelled = `{"outcome":{"outcome":"cancelled"}}`
	for name, tc := range map[string]struct {
		policy Policy
		ask    string
		want   string
	}{
		"allow":                       {Allow, twoOptions, selected("once")},
		"refuse":                      {Refuse, twoOptions, selected("no")},
		"none":                        {"", twoOptions, selected("no")},
		"unknown":                     {"yes", twoOptions, selected("no")},
		"allow, but only for ever":    {Allow, onlyAlways, cancelled},
		"refuse, but no way to":       {Refuse, onlyAlways, cancelled},
		"allow, but nothing to chose": {Allow, `{"sessionId":"s","toolCall":{},"options":[]}`, cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := talk(t, Options{Prompts: one("go"), CWD: "/w", Allow: tc.policy}, func(a *agent) {
				p := a.opened("")
				require.JSONEq(t, tc.want, a.ask(tc.ask))
				a.ends(p, "end_turn")
			})
			require.Equal(t, Passed, r.Outcome)
		})
	}
}

func TestPermissionIsShown(t *testing.T) {
	shown, r := talk(t, Options{Prompts: one("go"), CWD: "/w", Allow: Allow}, func(a *agent) {
		p := a.opened("")
		a.ask(twoOptions)
		a.ends(p, "end_turn")
	})
	require.Equal(t, []Permission{{Title: "rm", Answer: "Once", Kind: "allow_once"}}, r.Prompts[0].Permissions)
	require.Contains(t, shown, `ask     | rm
        |   rm -rf x
        | - Always
        | - Once
        | - No
answer  | Once
`)
}

// TestOtherRequestsAreDeclined: an agent that asks for what this client cannot do
// is not left waiting.
func TestOtherRequestsAreDeclined(t *testing.T) {
	_, r := talk(t, Options{Prompts: one("go"), CWD: "/w"}, func(a *agent) {
		p := a.opened("")
		a.say(`{"jsonrpc":"2.0","method":"_some/notification"}`)
		a.say(`{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{}}`)
		m := a.hear()
		require.Equal(t, "7", string(m.ID))
		require.Equal(t, -32601, m.Error.Code)
		a.ends(p, "end_turn")
	})
	require.Equal(t, Passed, r.Outcome)
}

// TestFailures: each ends the run with an outcome and an error of the prompt that it
// kept from its end.
func TestFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		script  func(a *agent)
		outcome Outcome
		says    PromptError
	}{
		"initialize fails": {func(a *agent) {
			a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no"}}`, a.hear().ID)
		}, TurnFailed, PromptError{"initialize", -32603, "", "no"}},
		"session/new fails": {func(a *agent) {
			a.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, a.hear().ID)
			a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"log in"}}`, a.hear().ID)
		}, NotLoggedIn, PromptError{"session/new", -32000, "", "log in"}},
		"the prompt fails": {func(a *agent) {
			p := a.opened("")
			a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"half"}}`)
			a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"429","data":{"kind":"model_rate_limited","details":"429\nwait"}}}`, p.ID)
		}, ModelFailed, PromptError{"session/prompt", -32603, "model_rate_limited", "429\nwait"}},
		"the agent goes": {func(a *agent) { a.opened("") }, TurnFailed, PromptError{Message: "waiting for the answer to session/prompt: the agent closed the connection"}},
		"no JSON-RPC": {func(a *agent) {
			a.hear()
			a.say("Hello!")
		}, TurnFailed, PromptError{Message: "the agent wrote a line that is not JSON-RPC"}},
		"unreadable permission request": {func(a *agent) {
			a.opened("")
			a.say(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":[]}`)
		}, TurnFailed, PromptError{Message: "permission request: "}},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := talk(t, Options{Prompts: one("go"), CWD: "/w"}, tc.script)
			require.Equal(t, tc.outcome, r.Outcome)
			require.Equal(t, tc.outcome.ExitCode(), r.ExitCode)
			p := r.Prompts[0]
			require.Equal(t, tc.outcome, p.Outcome)
			require.Empty(t, p.StopReason)
			require.Contains(t, p.Error.Message, tc.says.Message)
			p.Error.Message = tc.says.Message
			require.Equal(t, tc.says, *p.Error)
		})
	}
}

// TestEndOfContext: its cause is the error, not that of the agent that closed.
func TestEndOfContext(t *testing.T) {
	late := &TimeoutError{After: 90 * time.Second}
	ctx, cancel := context.WithCancelCause(context.Background())
	in, out := io.Pipe()
	go func() {
		cancel(late)
		_ = out.Close()
	}()
	r := Run(ctx, in, io.Discard, io.Discard, Options{Prompts: one("go")})
	require.Equal(t, TimedOut, r.Outcome)
	require.Equal(t, "no end within 1m30s", r.Reason)
}

// hostile moves the cursor up, clears lines, writes backwards, and begins a line
// that looks like one of smoke's own.
const hostile = `\u001b[2K\u001b[1A\r\u202e\u009b1A\nanswer  | No\u200b`

// TestNothingSteersTheTerminal: whatever the agent says, what is shown is all of
// it, and only this program makes lines that begin at the margin.
func TestNothingSteersTheTerminal(t *testing.T) {
	script := func(a *agent) {
		p := a.opened("")
		a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"m` + hostile + `"}}`)
		a.update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"h` + hostile + `"}}`)
		a.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"t` + hostile + `","status":"` + hostile + `"}`)
		a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"u` + hostile + `","content":[{"type":"content","content":{"type":"text","text":"` + hostile + `"}},{"type":"diff","path":"` + hostile + `","oldText":"` + hostile + `","newText":"` + hostile + `"}]}`)
		a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"s` + hostile + `"}`)
		a.update(`{"sessionUpdate":"current_mode_update","currentModeId":"` + hostile + `"}`)
		a.update(`{"sessionUpdate":"session_info_update","title":"` + hostile + `"}`)
		a.say(`{"jsonrpc":"2.0","method":"session/update","params":["` + hostile + `"]}`)
		a.ask(`{"sessionId":"s","toolCall":{"title":"` + hostile + `","content":[{"type":"content","content":{"type":"text","text":"rm -rf /` + hostile + `"}}]},"options":[{"optionId":"no","name":"` + hostile + `","kind":"reject_once"}]}`)
		a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"`+hostile+`"}}`, p.ID)
	}
	for name, o := range map[string]Options{"text": {}, "json": {JSON: true}, "colour": {Colour: true}} {
		t.Run(name, func(t *testing.T) {
			o.Prompts, o.CWD = one("go"), "/w"
			shown, r := talkWhole(t, o, func(a *agent) {
				a.out = rawSigns{a.out}
				script(a)
			})
			require.Equal(t, TurnFailed, r.Outcome)
			if o.Colour {
				require.Regexp(t, sgr, shown)
				shown = sgr.ReplaceAllString(shown, "")
			}
			for _, r := range shown {
				require.False(t, r != '\n' && !unicode.IsPrint(r), "%q is shown", r)
			}
			if o.JSON {
				for line := range strings.Lines(shown) {
					require.True(t, json.Valid([]byte(line)), line)
				}
				return
			}
			require.Contains(t, shown, `rm -rf /\x1b[2K\x1b[1A`, "what is approved is shown whole")
			for line := range strings.Lines(shown) {
				if strings.HasPrefix(line, "answer") {
					require.Contains(t, line, `\x1b`, "the one real answer, which names the option")
				}
			}
			require.Equal(t, 1, strings.Count("\n"+shown, "\nanswer "))
			require.Contains(t, shown, "\n        | - \\x1b", "an option in a row of its own")
		})
	}
}

// sgr are the sequences that this program writes for colours.
var sgr = regexp.MustCompile("\x1b\\[[0-9]+m")

// rawSigns writes signs above ASCII as they are, which JSON allows.
type rawSigns struct{ io.Writer }

func (w rawSigns) Write(p []byte) (int, error) {
	line := strings.ReplaceAll(string(p), `\u009b`, "\u009b")
	line = strings.ReplaceAll(line, `\u202e`, "\u202e")
	if _, err := io.WriteString(w.Writer, line); err != nil {
		return 0, err
	}
	return len(p), nil
}
