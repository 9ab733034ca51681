package protocol

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acptest"
)

// hostile is what a title must not bring to the screen.
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
		"choice":         FormField{Enum: []string{hostile}},
		"choices":        FormItems{Enum: []string{hostile}},
	} {
		t.Run(name, func(t *testing.T) {
			shown := encoded(t, v)
			require.NoError(t, acptest.CheckSafe(shown, false))
			require.Contains(t, shown, "second")
		})
	}
}

// TestNoTypeIsForgotten: a type with a text that editors show as a title, a name or a
// label is encoded by a method of its own, which makes it safe; or its texts are our own.
func TestNoTypeIsForgotten(t *testing.T) {
	ours := []string{"AuthMethod", "AgentInfo"}
	shown := regexp.MustCompile(`^(title|name|description|message|label|hint|detail|error|question|header|enum)$`)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	types, safe := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv != nil && decl.Name.Name == "MarshalJSON" {
					safe[fmt.Sprint(decl.Recv.List[0].Type)] = true
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok && showsText(spec, shown) {
						types[spec.Name.Name] = true
					}
				}
			}
		}
	}
	require.Greater(t, len(types), 10)
	for name := range types {
		require.True(t, safe[name] || slices.Contains(ours, name), "%s is shown as it comes", name)
	}
}

// showsText reports whether a struct has a field that is encoded as one of these.
func showsText(spec *ast.TypeSpec, shown *regexp.Regexp) bool {
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return false
	}
	for _, f := range fields.Fields.List {
		if f.Tag == nil {
			continue
		}
		name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if kind := fmt.Sprint(f.Type); shown.MatchString(name) && (kind == "string" || strings.HasSuffix(kind, "string}")) {
			return true
		}
	}
	return false
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
	require.Equal(t, hostile, p.ToolCall.Title)
	require.Equal(t, hostile, *p.ToolCall.Content[0].Content.Text)
	require.Equal(t, hostile, p.Options[0].Name)
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}
