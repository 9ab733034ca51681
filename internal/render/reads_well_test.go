package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// A client that shows notices gets only these for repeated calls, in words.
func TestRetriesAsNotices(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{Notices: true})
	var got []string
	for _, ev := range []quirks.Retrying{{Attempt: 1, Reason: `429 {"error":{"message":"slow\ndown"}}`}, {Attempt: 2, Reason: `429 {"error":{"message":"slow\ndown"}}`},
		{Attempt: 3, Reason: "overloaded"}, {Attempt: 4, Reason: "overloaded"}, {Attempt: 5, Reason: "overloaded"}, {Attempt: 6, Reason: "overloaded"}} {
		for _, o := range d.Event(d.moment(), ev, nil) {
			raw, err := json.Marshal(o)
			require.NoError(t, err)
			got = append(got, string(raw))
		}
	}
	require.Equal(t, []string{
		`{"sessionUpdate":"notice","severity":"warning","title":"The model call failed. Trying again…","description":"429 slow\ndown"}`,
		`{"sessionUpdate":"notice","severity":"warning","title":"The model call failed again. Trying on…","description":"the server is overloaded"}`,
	}, got)
	require.Empty(t, d.EndTurn(Compacted), "how many attempts there were is no news")
}

// maxTitleLength bounds the titles of calls in bytes, but for commands: who allows
// one has to see the whole of it.
const maxTitleLength = 720

// checkTitle returns an error if a title is not readable.
func checkTitle(raw []byte) error {
	var call protocol.ToolCall
	if err := json.Unmarshal(raw, &call); err != nil {
		return err
	}
	for _, r := range call.Title {
		if unicode.IsControl(r) {
			return fmt.Errorf("%q in the title %q", r, call.Title)
		}
	}
	if len(call.Title) > maxTitleLength && call.Kind != "execute" {
		return fmt.Errorf("the title has %d bytes: %.80q…", len(call.Title), call.Title)
	}
	return nil
}

func TestTitleOfAnMCPTool(t *testing.T) {
	for input, want := range map[string]string{
		`{"text":"yo","n":3,"deep":{"a":[1]}}`: `tiny: echo (text: "yo", n: 3, deep: {"a":[1]})`,
		`{"text: \"a\", b":1}`:                 `tiny: echo ("text: \"a\", b": 1)`,
		`{}`:                                   "tiny: echo",
		`"text"`:                               "tiny: echo",
		``:                                     "tiny: echo",
	} {
		require.Equal(t, want, permissionTitle(askedOf("tiny___echo", input, "mcp_tool"), "tiny: echo"))
	}
}

// FuzzTitle checks that the title of a call and of a request for it is one line that fits on a screen, whatever the model writes.
func FuzzTitle(f *testing.F) {
	long := strings.Repeat("long\n\x1b[2K", 300)
	for _, name := range []string{"Read", "Grep", "FetchUrl", "AskUser", "ExitSpecMode", "Task", "tiny___echo", "New\nTool"} {
		for _, field := range []string{"file_path", "pattern", "url", "title", "questionnaire", "description", "text"} {
			text := long
			if field == "questionnaire" {
				text = "1. [question] " + strings.Repeat("Why? ", 300)
			}
			raw, err := json.Marshal(map[string]string{field: text})
			require.NoError(f, err)
			f.Add(name, string(raw))
		}
	}
	f.Fuzz(func(t *testing.T, name, input string) {
		if toolOf(name).kind == "execute" {
			return
		}
		titles := []string{Title(name, json.RawMessage(input), "/workspace")}
		for _, kind := range []string{"mcp_tool", confirmSpec, "edit"} {
			titles = append(titles, permissionTitle(askedOf(name, input, kind), titles[0]))
		}
		for _, title := range titles {
			raw, err := json.Marshal(protocol.ToolCall{ToolCallID: "a", Title: protocol.Line(title)})
			require.NoError(t, err)
			require.NoError(t, checkTitle(raw))
		}
	})
}

func askedOf(name, input, kind string) (tool stream.PermissionToolUse) {
	tool.ToolUse.Name, tool.ToolUse.Input, tool.Confirmation = name, json.RawMessage(input), kind
	tool.Details.Title = parseToolInput(json.RawMessage(input)).Title
	return tool
}
