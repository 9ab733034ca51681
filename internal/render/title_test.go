package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/markdown"
)

func TestToolTitleAndLocations(t *testing.T) {
	for _, tc := range []struct {
		tool, input, title string
		kind               acp.ToolKind
		at                 string // path, and line behind a colon
	}{
		{"Execute", `{"command":"go test ./...\ngo vet"}`, "go test ./...\ngo vet", acp.ToolKindExecute, ""},
		{"Execute", `{}`, "Execute", acp.ToolKindExecute, ""},
		{"Execute", "{\"command\":\"rm\u00a0x\"}", `rm\u00a0x`, acp.ToolKindExecute, ""},
		{"Read", "{\"file_path\":\"a\u00a0b\"}", `Read a\u00a0b`, acp.ToolKindRead, "/w/a\u00a0b"},
		{"Read", `{"file_path":"/w/a/b.go"}`, "Read a/b.go", acp.ToolKindRead, "/w/a/b.go"},
		{"Read", `{"file_path":"b.go"}`, "Read b.go", acp.ToolKindRead, "/w/b.go"},
		{"Create", `{"file_path":"/other/b.go","content":"x"}`, "Create /other/b.go", acp.ToolKindEdit, "/other/b.go"},
		{"Grep", `{"pattern":"foo.*","path":"/w/a"}`, "Grep foo.* in a", acp.ToolKindSearch, "/w/a"},
		{"Grep", `{"pattern":"foo","path":"/w/"}`, "Grep foo", acp.ToolKindSearch, "/w"},
		{"Glob", `{"patterns":["*.go","*.md"],"folder":"sub"}`, "Glob *.go, *.md in sub", acp.ToolKindSearch, "/w/sub"},
		{"Glob", `{"patterns":"*.go"}`, "Glob *.go", acp.ToolKindSearch, ""},
		{"LS", `{"directory_path":"/w/a"}`, "LS a", acp.ToolKindSearch, "/w/a"},
		{"Read", `{"file_path":"b.go","offset":7,"limit":3}`, "Read b.go", acp.ToolKindRead, "/w/b.go:7"},
		{"Read", `{"file_path":"b.go","offset":-7}`, "Read b.go", acp.ToolKindRead, "/w/b.go:1"},
		{"Read", `{"file_path":"b.go","offset":4294967296}`, "Read b.go", acp.ToolKindRead, "/w/b.go"},
		{"Read", `{"file_path":"b.go","offset":9223372036854775807}`, "Read b.go", acp.ToolKindRead, "/w/b.go"},
		{"Read", `{"file_path":"b.go","offset":1e30}`, "Read b.go", acp.ToolKindRead, "/w/b.go"},
		{"Read", `{"file_path":"b.go","offset":"7"}`, "Read b.go", acp.ToolKindRead, "/w/b.go"},
		{"FetchUrl", `{"url":"https://example.com/a"}`, "FetchUrl https://example.com/a", acp.ToolKindFetch, ""},
		{"ToolSearch", `{"query":"select:a"}`, "ToolSearch select:a", acp.ToolKindSearch, ""},
		{"TaskOutput", `{"task_id":"t1"}`, "TaskOutput t1", acp.ToolKindOther, ""},
		{"WebSearch", `{"query":"go 1.26"}`, "WebSearch go 1.26", acp.ToolKindFetch, ""},
		{"ExitSpecMode", `{"title":"My plan"}`, "Approve plan: My plan", acp.ToolKindSwitchMode, ""},
		{"ExitSpecMode", `{}`, "Approve plan", acp.ToolKindSwitchMode, ""},
		{"AskUser", `{"questionnaire":"1. [question] Which color?\n[topic] Color\n[option] Red\n"}`, "Which color?", acp.ToolKindOther, ""},
		{"AskUser", `{"questionnaire":"1. [question] Which parts? (multi)\n[option] A\n\n2. [question] Why?\n"}`, "2 questions: Which parts?; Why?", acp.ToolKindOther, ""},
		{"AskUser", `{"questionnaire":"Why?"}`, "AskUser", acp.ToolKindOther, ""},
		{"tiny___echo", `{"x":1}`, "tiny: echo", acp.ToolKindOther, ""},
		{"web___get", `{"path":"/api/users"}`, "web: get /api/users", acp.ToolKindOther, ""},
		{"Edit", `{"file_path":"b.go"}`, "Edit b.go", acp.ToolKindEdit, "/w/b.go"},
		{"MultiEdit", `{"file_path":"b.go"}`, "MultiEdit b.go", acp.ToolKindEdit, "/w/b.go"},
		{"ApplyPatch", `{"input":"*** Begin Patch"}`, "ApplyPatch", acp.ToolKindEdit, ""},
		{"TodoWrite", `{"todos":"- a"}`, "TodoWrite", acp.ToolKindThink, ""},
		{"Task", `{"description":"find it\nnow"}`, "Task find it …", acp.ToolKindOther, ""},
		{"Skill", `{"skill":"review"}`, "Skill review", acp.ToolKindRead, ""},
		{"Read", `"not an object"`, "Read", acp.ToolKindRead, ""},
		{"Read", `{"file_path":7}`, "Read", acp.ToolKindRead, ""},
		{"", ``, "tool", acp.ToolKindOther, ""},
	} {
		in := parseToolInput(json.RawMessage(tc.input))
		require.Equal(t, tc.title, toolTitle(tc.tool, in, "/w"), tc.tool+tc.input)
		require.Equal(t, tc.kind, toolOf(tc.tool).kind)
		at := ""
		for _, l := range toolLocations(tc.tool, in, "/w", true) {
			at += l.Path
			if l.Line != 0 {
				at += fmt.Sprintf(":%d", l.Line)
			}
		}
		require.Equal(t, tc.at, at, tc.tool+tc.input)
	}
}

// Before 0.215 droid counts lines from 0.
func TestReadLineOfAnOldDroid(t *testing.T) {
	in := parseToolInput(json.RawMessage(`{"file_path":"/w/a","offset":0}`))
	require.Equal(t, []protocol.Location{{Path: "/w/a", Line: 1}}, toolLocations("Read", in, "/w", false))
	in = parseToolInput(json.RawMessage(`{"file_path":"/w/a","offset":7}`))
	require.Equal(t, []protocol.Location{{Path: "/w/a", Line: 8}}, toolLocations("Read", in, "/w", false))
}

func TestResultContent(t *testing.T) {
	for raw, want := range map[string]string{
		`"done\n"`: `[{"type":"content","content":{"type":"text","text":"done\n"}}]`,
		`""`:       `null`,
		``:         `null`,
		`[{"type":"text","text":"here"},{"type":"image","source":{"type":"base64","mediaType":"image/png","data":"AA=="}}]`: `[{"type":"content","content":{"type":"text","text":"here"}},{"type":"content","content":{"type":"image","data":"AA==","mimeType":"image/png"}}]`,
		`[{"type":"video"}]`: `[{"type":"content","content":{"type":"text","text":"[video]"}}]`,
		`{"odd":1}`:          `[{"type":"content","content":{"type":"text","text":"{\"odd\":1}"}}]`,
	} {
		got, err := json.Marshal(ResultContent(json.RawMessage(raw)))
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), raw)
	}
}

func TestResultText(t *testing.T) {
	for raw, want := range map[string]string{`"done"`: "done", `[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]`: "ab", ``: "", `{"odd":1}`: `{"odd":1}`} {
		require.Equal(t, want, ResultText(json.RawMessage(raw)))
	}
}

func TestMCPPermissionShowsItsInput(t *testing.T) {
	require.Equal(t, "tiny: echo\n\n```json\n{\n  \"text\": \"yo\"\n}\n```\n\nRisk: high", mcpText(stream.PermissionToolUse{
		ToolUse: stream.ToolUse{Name: "tiny___echo", Input: json.RawMessage(`{"text":"yo"}`)},
		Details: stream.PermissionDetails{ToolName: "tiny___echo", ImpactLevel: "high"},
	}))
	require.Equal(t, "tiny: echo", mcpText(stream.PermissionToolUse{Details: stream.PermissionDetails{ToolName: "tiny___echo"}}))
}

// A client that draws titles as Markdown gets them escaped, in updates and in requests, but for those of commands and
// edits, which it draws as they stand. No other client's titles change.
func TestTitlesAsMarkdown(t *testing.T) {
	titles := func(markdown bool) (all []string) {
		client := formed
		client.RendersTitleMarkdown, client.Forms = markdown, false
		d := newHarness(client)
		take := func(out []Output) {
			for _, update := range out {
				if call, ok := update.(protocol.ToolCall); ok && call.Title != "" {
					all = append(all, call.SessionUpdate+" "+string(call.Title))
				}
			}
		}
		ask := func(dialog Dialog) {
			for step, more := dialog.Next(); more; step, more = dialog.Next() {
				all = append(all, "asked "+string(step.Choice.ToolCall.Title))
				dialog.OptionChosen(step.Choice.Options[0].OptionID)
			}
		}
		for i, call := range [][2]string{{"Read", `{"file_path":"src/__init__.py"}`}, {"Execute", `{"command":"ls *_a_*"}`}, {"Edit", `{"file_path":"a_b_c"}`}, {"AskUser", `{}`}} {
			id := fmt.Sprint(i)
			take(d.Event(Moment{}, quirks.ToolStarted{ID: id, Name: call[0], Input: json.RawMessage(call[1])}, nil))
			take(d.Event(Moment{}, quirks.ToolInput{ID: id, Name: call[0], Input: json.RawMessage(call[1])}, nil))
		}
		once := []stream.PermissionOption{{Value: stream.OptionOnce, Label: "Go"}, {Value: stream.OptionCancel, Label: "No"}}
		read := stream.PermissionToolUse{ToolUse: stream.ToolUse{ID: "0", Name: "Read", Input: json.RawMessage(`{"file_path":"src/__init__.py"}`)}}
		run := stream.PermissionToolUse{ToolUse: stream.ToolUse{ID: "1", Name: "Execute", Input: json.RawMessage(`{"command":"ls *_a_*"}`)}, Confirmation: "sandbox_violation"}
		for _, tools := range [][]stream.PermissionToolUse{{read}, {run}, {read, run}} {
			p := d.Permission(quirks.PermissionRequested{RequestID: "r", Tools: tools, Options: once}, nil, PermissionContext{})
			take(p.Before)
			ask(p)
			take(p.After)
		}
		questions := d.Questions(quirks.QuestionRequested{ToolID: "3", Questions: []stream.Question{{Topic: "a_b_", Question: "Why *now*?", Options: []string{"x"}}}})
		ask(questions)
		take(questions.After)
		own := d.CompactQuestion(false)
		take(own.Before)
		ask(own)
		take(own.End("It is *done*"))
		return all
	}
	plain := titles(false)
	require.Contains(t, plain, "tool_call Read src/__init__.py")
	require.Contains(t, plain, "asked 2 actions: Read src/__init__.py; ls *_a_*")
	var want []string
	for _, title := range plain {
		word, rest, _ := strings.Cut(title, " ")
		if rest != "ls *_a_*" && !strings.HasPrefix(rest, "Edit ") && !strings.HasPrefix(rest, "Command ") {
			rest = markdown.Escaped(rest)
		}
		want = append(want, word+" "+rest)
	}
	t.Log(strings.Join(titles(true), "\n"))
	require.Equal(t, want, titles(true))
	require.Contains(t, want, `tool_call Read src/\_\_init\_\_.py`)
}
