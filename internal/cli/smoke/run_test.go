package smoke

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// says answers a prompt with a text.
func (a *agent) says(prompt message, text, stop string) {
	a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`)
	a.ends(prompt, stop)
}

// TestPrompts: they run in one session; one that is not as expected does not keep the
// others from running, and only the failures count.
func TestPrompts(t *testing.T) {
	dir := t.TempDir()
	prompts := []Prompt{
		{Text: "a", Expect: []Expectation{{Contains: "one"}, {Path: "made"}}},
		{Text: "b", Expect: []Expectation{{Contains: "nothing of it"}}},
		{Text: "c"},
	}
	shown, r := talkWhole(t, Options{Prompts: prompts, CWD: dir}, func(a *agent) {
		first := a.opened("")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "made"), nil, 0o644))
		a.says(first, "one", "end_turn")
		a.says(a.hears("session/prompt"), "two", "end_turn")
		last := a.hears("session/prompt")
		a.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run","kind":"execute","status":"failed"}`)
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn","usage":{"totalTokens":12,"inputTokens":10,"outputTokens":2}}}`, last.ID)
	})
	require.Equal(t, NotMet, r.Outcome)
	require.Equal(t, 6, r.ExitCode)
	require.Equal(t, `prompt 2: expected: the answer contains "nothing of it"; found: an answer without it: "two"`, r.Reason)
	require.Equal(t, Totals{Prompts: 3, Passed: 2, Failed: 1, Expectations: 3, Met: 2, ToolCalls: 1, ToolCallsFailed: 1, Tokens: &Tokens{Total: 12, Input: 10, Output: 2}}, r.Totals)
	require.Equal(t, []string{"one", "two", ""}, []string{r.Prompts[0].Answer, r.Prompts[1].Answer, r.Prompts[2].Answer})
	require.Contains(t, shown, `expect  | the answer contains "one": yes
expect  | there is a file made: yes
you     | b
`)
	require.Contains(t, shown, `expect  | the answer contains "nothing of it": no, an answer without it: "two"`)
	require.Regexp(t, `(?s)summary \| 3 prompts: 2 passed, 1 failed; 2 of 3 expectations met
        \| 1 tool call \(1 failed or refused\), 0 permissions, [0-9.]+m?s, 12 tokens \(10 in, 2 out\)
        \| prompt 2, expectation_not_met: expected: the answer contains "nothing of it"; found: an answer without it: "two"
$`, shown)
}

// TestSchema: the form of an answer is asked for with its prompt alone, and what came in it is in the result. A turn that
// ends well without it is not as expected.
func TestSchema(t *testing.T) {
	prompts := []Prompt{{Text: "a"}, {Text: "b"}, {Text: "c"}}
	for i := range prompts[1:] {
		require.NoError(t, prompts[i+1].WithSchema([]byte(`{"type": "object"}`)))
	}
	shown, r := talkWhole(t, Options{Prompts: prompts, CWD: t.TempDir()}, func(a *agent) {
		first := a.opened("")
		require.NotContains(t, string(first.Params), "_meta")
		a.says(first, "one", "end_turn")
		second := a.hears("session/prompt")
		require.Contains(t, string(second.Params), `"_meta":{"droid-acp":{"outputFormat":{"schema":{"type":"object"},"type":"json_schema"}}}`)
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn","_meta":{"droid-acp":{"structuredOutput":{"n":4}}}}}`, second.ID)
		a.says(a.hears("session/prompt"), "words", "end_turn")
	})
	require.Equal(t, NotMet, r.Outcome)
	require.Equal(t, `prompt 3: expected: the answer has the form of the schema; found: an answer in words alone: "words"`, r.Reason)
	require.JSONEq(t, `{"n":4}`, string(r.Prompts[1].Output))
	require.Nil(t, r.Prompts[2].Output)
	require.Contains(t, shown, "expect  | the answer has the form of the schema: yes\n")
	for _, text := range []string{"", "{", "null", "[]", `"x"`} {
		require.ErrorContains(t, new(Prompt).WithSchema([]byte(text)), "it is no JSON schema: ", text)
	}
}

// TestOrder: what comes behind an answer belongs to the next prompt, and the protocol's
// lines are shown as they pass.
func TestOrder(t *testing.T) {
	o := Options{Prompts: []Prompt{{Text: "a"}, {Text: "b"}}, CWD: "/w"}
	script := func(a *agent) {
		first := a.opened("")
		out := a.out
		var both strings.Builder
		a.out = &both
		a.ends(first, "end_turn")
		a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"late"}}`)
		a.out = out
		a.say("%s", strings.TrimSpace(both.String()))
		a.ends(a.hears("session/prompt"), "end_turn")
	}
	for range 20 {
		_, r := talkWhole(t, o, script)
		require.Equal(t, []string{"", "late"}, []string{r.Prompts[0].Answer, r.Prompts[1].Answer})
	}
	o.JSON = true
	shown, _ := talkWhole(t, o, script)
	var seen []string
	for line := range strings.Lines(shown) {
		var m message
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		seen = append(seen, m.Method+string(m.ID))
	}
	require.Equal(t, []string{"initialize1", "1", "session/new2", "2", "session/prompt3", "3", "session/update", "session/prompt4", "4"}, seen)
}

// TestFailedTurnEndsTheRun, and outweighs an expectation that was not met before.
func TestFailedTurnEndsTheRun(t *testing.T) {
	prompts := []Prompt{{Text: "a", Expect: []Expectation{{Contains: "x"}}}, {Text: "b"}, {Text: "c", Expect: []Expectation{{Path: "y"}}}}
	shown, r := talkWhole(t, Options{Prompts: prompts, CWD: t.TempDir()}, func(a *agent) {
		a.says(a.opened(""), "one", "end_turn")
		a.says(a.hears("session/prompt"), "two", "max_tokens")
	})
	require.Equal(t, TurnFailed, r.Outcome)
	require.Equal(t, "prompt 2: the turn ended with max_tokens", r.Reason)
	require.Equal(t, []Outcome{NotMet, TurnFailed, NotRun}, []Outcome{r.Prompts[0].Outcome, r.Prompts[1].Outcome, r.Prompts[2].Outcome})
	require.Contains(t, shown, "summary | 3 prompts: 0 passed, 2 failed, 1 not run; 0 of 2 expectations met\n")
	require.Equal(t, []CheckedExpectation{{File: "y"}}, r.Prompts[2].Expectations, "that one was not checked is not left out")
}

// TestModelNotTaken: a session that has another model than what was wanted is an
// error, not a run with that other one.
func TestModelNotTaken(t *testing.T) {
	for name, tc := range map[string]struct {
		o    Options
		says string
	}{
		"as wanted":    {Options{Model: "m", Effort: "high"}, ""},
		"other model":  {Options{Model: "n"}, `droid did not take the model "n"; it has "m", and offers 3: m, k, l`},
		"other effort": {Options{Model: "m", Effort: "low"}, `droid did not take the reasoning_effort "low"; it has "high"`},
		"none offered": {Options{Model: "m", Effort: "low"}, `droid did not take the reasoning_effort "low"; the session offers none`},
	} {
		t.Run(name, func(t *testing.T) {
			effort := `,{"id":"reasoning_effort","currentValue":"high"}`
			if name == "none offered" {
				effort = ""
			}
			tc.o.Prompts, tc.o.CWD = one("go"), "/w"
			_, r := talk(t, tc.o, func(a *agent) {
				a.say(`{"jsonrpc":"2.0","id":%s,"result":{"agentInfo":{"name":"a","version":"1"}}}`, a.hears("initialize").ID)
				a.say(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s","configOptions":[{"id":"model","currentValue":"m","options":[{"value":"m"},{"value":"k"},{"value":"l"}]}`+effort+`,{"id":"switch","currentValue":true}]}}`, a.hears("session/new").ID)
				if tc.says == "" {
					a.ends(a.hears("session/prompt"), "end_turn")
				}
			})
			require.Equal(t, tc.says, r.Reason)
			require.Equal(t, tc.says == "", r.Outcome == Passed)
			require.Equal(t, Agent{"a", "1"}, r.Agent)
		})
	}
}

// TestContentIsShownOnce: what was shown of a call is not shown again; what a
// permission is asked for is shown whole.
func TestContentIsShownOnce(t *testing.T) {
	const diff = `{"type":"diff","path":"/w/a","oldText":"1\r\n2\r\n","newText":"1\r\nzwei\r\n"}`
	shown, _ := talk(t, Options{Prompts: one("go"), CWD: "/w"}, func(a *agent) {
		p := a.opened("")
		a.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"Edit","status":"pending","content":[` + diff + `]}`)
		a.ask(`{"sessionId":"s","toolCall":{"toolCallId":"t","title":"Edit","content":[` + diff + `]},"options":[]}`)
		a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","content":[` + diff + `,{"type":"content","content":{"type":"text","text":"a\nb\n"}}]}`)
		a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[` + diff + `,{"type":"content","content":{"type":"text","text":"a\nb\nc\n"}}]}`)
		a.update(`{"sessionUpdate":"plan","entries":[{"content":"look","status":"completed"},{"content":"do","status":"pending"}]}`)
		a.ends(p, "end_turn")
	})
	const asShown = `        |   --- /w/a
        |   +++ /w/a
        |   @@ -1,2 +1,2 @@
        |    1
        |   -2
        |   +zwei
`
	require.Equal(t, "you     | go\ntool    | Edit [pending]\n"+asShown+"ask     | Edit\n"+asShown+`answer  | (no fitting option: cancelled)
tool    | Edit [completed]
        |   a
        |   b
        |   c
plan    | look [completed]
        | do [pending]
`, shown)
}

func TestColours(t *testing.T) {
	script := func(a *agent) {
		p := a.opened("")
		a.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"Edit","status":"completed","content":[{"type":"diff","path":"/w/a","oldText":"1\n","newText":"2\n"}]}`)
		a.ends(p, "end_turn")
	}
	plainly, _ := talk(t, Options{Prompts: one("go"), CWD: "/w"}, script)
	require.NotContains(t, plainly, "\x1b")
	coloured, _ := talkWhole(t, Options{Prompts: one("go"), CWD: "/w", Colour: true}, script)
	require.Contains(t, coloured, "\x1b[31m-1\x1b[0m\n")
	require.Contains(t, coloured, "\x1b[32m+2\x1b[0m\n")
	without, _, _ := strings.Cut(sgr.ReplaceAllString(coloured, ""), "summary | ")
	require.Equal(t, plainly, without, "colours change no letter")
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := Run(ctx, strings.NewReader(""), new(strings.Builder), new(strings.Builder), Options{Prompts: one("go")})
	require.Equal(t, TurnFailed, r.Outcome)
	require.Equal(t, "interrupted", r.Reason)
}

var errWriter = errors.New("no room")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errWriter }

// An agent that takes nothing any more ends the run.
func TestAgentTakesNothing(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	r := Run(context.Background(), in, fullDisk{}, new(strings.Builder), Options{Prompts: one("go")})
	require.Equal(t, "waiting for the answer to initialize: the agent closed the connection", r.Reason)
	require.Equal(t, 1, r.ExitCode)
}
