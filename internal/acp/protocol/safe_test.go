package protocol

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/acptest"
)

// hostile has characters that a title must not display.
const hostile = "\x1b[2K\x1b[1A\r\u202e\u009b1A\u200b\nsecond"

// TestTitlesAndNamesAreOneSafeLine: each type that leaves for the editor, with
// every field that is shown as a title, a name or a label.
func TestTitlesAndNamesAreOneSafeLine(t *testing.T) {
	for name, v := range map[string]any{
		"tool call":      ToolCall{Title: hostile, Name: hostile},
		"login status":   AuthStatus{Label: hostile, Detail: hostile},
		"session title":  SessionInfoUpdate{Title: hostile},
		"listed session": ListedSession{Title: hostile},
		"title given":    TitleResult{Title: hostile},
		"mode":           SessionMode{Name: hostile, Description: hostile},
		"button":         PermissionOption{Name: hostile},
		"plan entry":     PlanEntry{Content: hostile},
		"command":        AvailableCommand{Name: hostile, Description: hostile, Input: &CommandInput{Hint: hostile}},
		"option":         ConfigOption{Name: hostile, Description: hostile},
		"option's value": OptionValue{Name: hostile, Description: hostile},
		"notice":         NoticeUpdate{Title: hostile},
		"field":          FormField{Title: hostile},
		"choice":         FormField{Enum: []Line{hostile}},
		"choices":        FormItems{Enum: []Line{hostile}},
	} {
		t.Run(name, func(t *testing.T) {
			shown := encoded(t, v)
			require.NoError(t, acptest.CheckSafe(shown, false))
			require.Contains(t, shown, "second")
		})
	}
}

// TestNoTextIsForgotten: a field that editors show as a title, a name or a label is a Line
// or a Text, unless its texts are our own. (A tool's content is made safe by
// PermissionParams.)
func TestNoTextIsForgotten(t *testing.T) {
	ours := []string{"AuthMethod", "AgentInfo"}
	plain := regexp.MustCompile(`\s(\[\]string|\*?string)\s+.json:"(title|name|description|message|label|hint|detail|error|question|header|enum)[",]`)
	isSafe := regexp.MustCompile(`\s(\[\])?(Line|Text)\s+.json:`)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	safe := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		of := ""
		for line := range strings.Lines(string(text)) {
			if rest, found := strings.CutPrefix(line, "type "); found {
				of, _, _ = strings.Cut(rest, " ")
			}
			require.False(t, plain.MatchString(line) && !slices.Contains(ours, of), "%s: %s", of, line)
			if isSafe.MatchString(line) {
				safe++
			}
		}
	}
	require.Greater(t, safe, 20)
}

// TestTextsOfDialogsAreSafe: what may have several lines keeps them.
func TestTextsOfDialogsAreSafe(t *testing.T) {
	for name, v := range map[string]any{
		"form":         ElicitationParams{Message: hostile},
		"form's field": FormField{Description: hostile},
		"login":        URLElicitation{Message: hostile},
		"to Factory":   LoginElicitation{Message: hostile, RequestID: json.RawMessage("1")},
		"compaction":   CompactionUpdate{Error: hostile},
		"notice":       NoticeUpdate{Description: hostile},
		"permission":   PermissionParams{ToolCall: ToolCall{Content: []ToolContent{TextContent(hostile)}}},
	} {
		t.Run(name, func(t *testing.T) { require.NoError(t, acptest.CheckSafe(encoded(t, v), true)) })
	}
}

// TestDiffsAndTextsOfTheModelStayAsTheyAre: also in a permission request a diff is
// what will be written.
func TestDiffsAndTextsOfTheModelStayAsTheyAre(t *testing.T) {
	text := hostile
	p := PermissionParams{ToolCall: ToolCall{Content: []ToolContent{DiffContent("/w/"+hostile, &text, &text)}, RawInput: json.RawMessage(`{"a":"` + "\u202e" + `"}`)}}
	var got PermissionParams
	require.NoError(t, json.Unmarshal([]byte(encoded(t, p)), &got))
	require.Equal(t, p, got)
	update := ToolCall{Content: []ToolContent{TextContent(hostile)}}
	var same ToolCall
	require.NoError(t, json.Unmarshal([]byte(encoded(t, update)), &same))
	require.Equal(t, update, same)
}

// TestEncodingChangesNoText: a value that is encoded is not changed itself.
func TestEncodingChangesNoText(t *testing.T) {
	p := PermissionParams{ToolCall: ToolCall{Title: hostile, Content: []ToolContent{TextContent(hostile)}}, Options: []PermissionOption{{Name: hostile}}}
	encoded(t, p)
	require.EqualValues(t, hostile, p.ToolCall.Title)
	require.Equal(t, hostile, *p.ToolCall.Content[0].Content.Text)
	require.EqualValues(t, hostile, p.Options[0].Name)
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}
