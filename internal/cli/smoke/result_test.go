package smoke

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// Each outcome of a run has its own exit code, and none has that of wrong usage.
func TestExitCodes(t *testing.T) {
	seen := map[int]Outcome{2: "usage"}
	for _, o := range []Outcome{Passed, TurnFailed, NotInstalled, NotLoggedIn, ModelFailed, NotMet, TimedOut} {
		code, known := exitCodes[o]
		require.True(t, known, o)
		require.Empty(t, seen[code], o)
		seen[code] = o
	}
	require.Len(t, exitCodes, len(seen)-1)
}

func TestOutcomes(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want Outcome
	}{
		{nil, Passed},
		{fmt.Errorf("so: %w", &TimeoutError{}), TimedOut},
		{os.ErrClosed, TurnFailed},
		{&rpcError{Code: -32000, Message: "Authentication required: droid is not logged in"}, NotLoggedIn},
		{&rpcError{Code: -32603, Message: "droid not found", Data: kindData("droid_not_found")}, NotInstalled},
		{&rpcError{Code: -32603, Message: "401", Data: kindData("model_authentication_failed")}, ModelFailed},
		{&rpcError{Code: -32603, Message: "oh", Data: kindData("model_something_new")}, ModelFailed},
		{&rpcError{Code: -32603, Message: "who knows", Data: kindData("error")}, ModelFailed},
		{&rpcError{Code: -32603, Message: "droid did not change its model", Data: kindData("model_refused")}, TurnFailed},
		{&rpcError{Code: -32603, Message: "it died", Data: kindData("droid_crashed")}, TurnFailed},
		{&rpcError{Code: -32603, Message: "no kind"}, TurnFailed},
		{&rpcError{Code: -32602, Message: "of another code", Data: kindData("model_rate_limited")}, TurnFailed},
	} {
		require.Equal(t, tc.want, outcomeOf(tc.err), "%v", tc.err)
	}
}

// kindData are the data of an error of this kind.
func kindData(kind string) any { return json.RawMessage(`{"kind":"` + kind + `"}`) }

// TestKindsOfTheAgent: the words of the agent's internal errors are those
// that this room takes them for. A new one must be looked at here.
func TestKindsOfTheAgent(t *testing.T) {
	known := map[string]Outcome{
		"droid_not_found": NotInstalled,
		"droid_exited":    TurnFailed, "droid_crashed": TurnFailed, "droid_refused": TurnFailed, "droid_start_failed": TurnFailed,
		"droid_failed": TurnFailed, "droid_too_old": TurnFailed, "droid_keeps_crashing": TurnFailed, "auto_compaction_ignored": TurnFailed,
		"delete_failed": TurnFailed, "export_failed": TurnFailed, "report_failed": TurnFailed, "provider_refused": TurnFailed, "model_unavailable": TurnFailed, "list_failed": TurnFailed, "status_failed": TurnFailed, "archive_failed": TurnFailed, "search_failed": TurnFailed, "command_failed": TurnFailed, "rewind_failed": TurnFailed, "rewind_unknown": TurnFailed, "internal_error": TurnFailed,
		"login_declined": TurnFailed, "login_failed": TurnFailed, "login_timed_out": TurnFailed, "session_taken": TurnFailed, "server_gone": TurnFailed, "shutting_down": TurnFailed,
		"cwd_refused": TurnFailed, "disk_silent": TurnFailed, "mode_lost": TurnFailed, "mode_not_set": TurnFailed, "not_taken_back": TurnFailed, "model_not_set": ModelFailed, "interrupted": TurnFailed, "project_not_trusted": TurnFailed,
		"model_authentication_failed": ModelFailed, "model_usage_exhausted": ModelFailed, "model_rate_limited": ModelFailed,
		"model_provider_unreachable": ModelFailed, "model_provider_unavailable": ModelFailed, "model_request_rejected": ModelFailed, "error": ModelFailed,
	}
	files, err := filepath.Glob("../../adapter/*.go")
	require.NoError(t, err)
	more, err := filepath.Glob("../../adapter/acperr/*.go")
	require.NoError(t, err)
	found := map[string]bool{}
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`Internal\("(\w+)"|\n\t"(\w+)":\s+"[A-Z]|return "(model_\w+)"`).FindAllSubmatch(text, -1) {
			found[string(m[1])+string(m[2])+string(m[3])] = true
		}
	}
	require.Greater(t, len(found), 20, "the words were not found; has the adapter changed?")
	for kind := range found {
		want, ok := known[kind]
		require.True(t, ok, "the agent has a new kind of error: %s", kind)
		require.Equal(t, want, outcomeOf(&rpcError{Code: -32603, Message: "text", Data: kindData(kind)}), kind)
	}
}

// someResult has each kind of prompt, with texts that XML cannot hold as they are.
func someResult() *Result {
	r := &Result{Agent: Agent{"droid-acp", "1"}, Dir: "/w", Seconds: 3.5, Prompts: []PromptResult{
		{Prompt: "a\nb", Outcome: Passed, StopReason: "end_turn", Answer: "<&>\x00\x1b[2K\u202e\xff", Seconds: 1.25},
		{Prompt: "b", Outcome: NotMet, StopReason: "end_turn", Expectations: []CheckedExpectation{{Contains: "x", Met: true}, {File: "f", Contains: "]]>", Found: "no such file"}}},
		{Prompt: strings.Repeat("ü", 200), Outcome: TurnFailed, StopReason: "refusal"},
		{Prompt: "c", Outcome: TimedOut, Error: &PromptError{Message: "no end within 5m\n\x07"}},
		{Prompt: "d", Outcome: NotRun},
	}}
	r.conclude()
	return r
}

func TestJUnit(t *testing.T) {
	text, err := someResult().JUnit()
	require.NoError(t, err)
	root := readJUnit(t, text)
	require.Equal(t, []string{"5", "2", "1"}, root.attributes("tests", "failures", "errors"))
	s := root.children[0]
	require.Equal(t, []string{"5", "2", "1", "1", "3.500"}, s.attributes("tests", "failures", "errors", "skipped", "time"))
	cases := s.children[1:]
	require.Len(t, cases, 5)
	require.Equal(t, []string{"1: a ⏎ b", "1.250"}, cases[0].attributes("name", "time"))
	require.Equal(t, `<&>\x00\x1b[2K\u202e\xff`, cases[0].children[0].text, "it is safe to show")
	require.Len(t, cases[0].children, 1, "no failure")
	const notMet = `expected: the file f contains "]]>"; found: no such file`
	require.Equal(t, node{name: "failure", attrs: map[string]string{"type": "expectation_not_met", "message": notMet}, text: notMet}, *cases[1].children[0])
	require.Equal(t, "the turn ended with refusal", cases[2].children[0].attrs["message"])
	require.Less(t, len([]rune(cases[2].attrs["name"])), 110)
	require.Equal(t, node{name: "error", attrs: map[string]string{"type": "timeout", "message": `no end within 5m ⏎ \x07`}, text: "no end within 5m\n\\x07"}, *cases[3].children[0])
	require.Equal(t, "skipped", cases[4].children[0].name)

	// Whatever prompts, answers and errors hold, and however many there are.
	var all strings.Builder
	for r := range rune(unicode.MaxRune) {
		if r < 0x3000 || r&0xffff >= 0xfff0 || r%1009 == 0 {
			all.WriteRune(r)
		}
	}
	r := &Result{Agent: Agent{all.String(), all.String()}, Dir: all.String(), Seconds: 1234567.8912}
	for _, text := range []string{all.String(), "\xff\xc0]]>&#0;", ""} {
		r.Prompts = append(r.Prompts, PromptResult{Prompt: text, Answer: text, Outcome: Passed}, PromptResult{Prompt: text, Answer: text, Outcome: ModelFailed, Error: &PromptError{Message: text}},
			PromptResult{Prompt: text, Answer: text, Outcome: TurnFailed, StopReason: text}, PromptResult{Prompt: text, Outcome: NotRun},
			PromptResult{Prompt: text, Answer: text, Outcome: NotMet, Expectations: []CheckedExpectation{{Contains: text, Found: text}}})
	}
	r.conclude()
	text, err = r.JUnit()
	require.NoError(t, err)
	readJUnit(t, text)
}

// TestResult holds the fields that docs/ci.md describes.
func TestResult(t *testing.T) {
	r := someResult()
	require.Equal(t, TurnFailed, r.Outcome, "the first that is worse than an expectation")
	text, err := r.JSON()
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	require.EqualValues(t, 1, got["format"])
	require.EqualValues(t, 1, got["exitCode"])
	require.Equal(t, "turn_failed", got["outcome"])
	require.Equal(t, "prompt 3: the turn ended with refusal", got["reason"])
	require.Equal(t, map[string]any{"prompts": 5., "passed": 1., "failed": 3., "notRun": 1., "expectations": 2., "expectationsMet": 1., "toolCalls": 0., "toolCallsFailed": 0., "permissions": 0., "permissionsAllowed": 0.}, got["totals"])
	require.Len(t, got["prompts"], 5)

	page, err := os.ReadFile("../../../docs/ci.md")
	require.NoError(t, err)

	for _, field := range fieldsOf(Result{}) {
		require.Contains(t, string(page), "`"+field+"`", "docs/ci.md does not describe the field")
	}
	for o, code := range exitCodes {
		require.Contains(t, string(page), "`"+string(o)+"`")
		require.Regexp(t, fmt.Sprintf(`\| %d \| .*%s`, code, o), string(page))
	}
}

// fieldsOf are the names of all fields that a value has in JSON, those of its parts
// included.
func fieldsOf(v any) (names []string) {
	seen := map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice:
			visit(t.Elem())
		case reflect.Struct:
			if seen[t] || t.PkgPath() == "time" {
				return
			}
			seen[t] = true
			for field := range t.Fields() {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				names = append(names, name)
				visit(field.Type)
			}
		}
	}
	visit(reflect.TypeOf(v))
	return names
}
