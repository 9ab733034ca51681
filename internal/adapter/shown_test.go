package adapter

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/fakedroid"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/visible"
)

// hostile is what a title must not bring to the screen.
const hostile = "\x1b[2K\x1b[1A\r\u202e\u009b1A\u200b\nsecond"

// TestTitlesAndNamesAreOneSafeLine: each type that leaves for the editor, with
// every field that is shown as a title, a name or a label.
func TestTitlesAndNamesAreOneSafeLine(t *testing.T) {
	for name, v := range map[string]any{
		"tool call":      protocol.ToolCall{Title: hostile},
		"session title":  protocol.SessionInfoUpdate{Title: hostile},
		"listed session": protocol.ListedSession{Title: hostile},
		"mode":           protocol.SessionMode{Name: hostile, Description: hostile},
		"button":         protocol.PermissionOption{Name: hostile},
		"plan entry":     protocol.PlanEntry{Content: hostile},
		"command":        protocol.AvailableCommand{Name: hostile, Description: hostile, Input: &protocol.CommandInput{Hint: hostile}},
		"option":         protocol.ConfigOption{Name: hostile, Description: hostile},
		"option's value": protocol.OptionValue{Name: hostile, Description: hostile},
		"notice":         protocol.NoticeUpdate{Title: hostile},
		"field":          protocol.FormField{Title: hostile},
		"choice":         protocol.FormField{Enum: []string{hostile}},
		"choices":        protocol.FormItems{Enum: []string{hostile}},
		"error":          internalError("kind", hostile),
		"params":         invalidParams("%s", hostile),
	} {
		t.Run(name, func(t *testing.T) {
			shown := encoded(t, v)
			if e, ok := v.(*acp.RequestError); ok {
				shown = e.Message
			}
			requireSafe(t, shown, false)
			require.Contains(t, shown, "second")
		})
	}
}

// TestTextsOfDialogsAreSafe: what may have several lines keeps them.
func TestTextsOfDialogsAreSafe(t *testing.T) {
	for name, v := range map[string]any{
		"form":             protocol.ElicitationParams{Message: hostile},
		"form's field":     protocol.FormField{Description: hostile},
		"login":            protocol.URLElicitation{Message: hostile},
		"permission":       protocol.PermissionParams{ToolCall: protocol.ToolCall{Content: []protocol.ToolContent{protocol.TextContent(hostile)}}},
		"error's details":  internalError("kind", hostile).Data,
		"shown permission": permissionText(stream.PermissionToolUse{Confirmation: "exec", Details: stream.PermissionDetails{FullCommand: hostile, ImpactLevel: "low", RiskLevelReason: hostile}}, false),
	} {
		t.Run(name, func(t *testing.T) { requireSafe(t, encoded(t, v), true) })
	}
}

// TestDiffsAndTextsOfTheModelStayAsTheyAre: also in a permission request a diff is
// what will be written.
func TestDiffsAndTextsOfTheModelStayAsTheyAre(t *testing.T) {
	text := hostile
	p := protocol.PermissionParams{ToolCall: protocol.ToolCall{Content: []protocol.ToolContent{protocol.DiffContent("/w/"+hostile, &text, &text)}, RawInput: json.RawMessage(`{"a":"` + "\u202e" + `"}`)}}
	var got protocol.PermissionParams
	require.NoError(t, json.Unmarshal([]byte(encoded(t, p)), &got))
	require.Equal(t, p, got)
	update := protocol.ToolCall{Content: []protocol.ToolContent{protocol.TextContent(hostile)}}
	var same protocol.ToolCall
	require.NoError(t, json.Unmarshal([]byte(encoded(t, update)), &same))
	require.Equal(t, update, same)
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(says("Answer"+hostile)))
		require.Equal(t, "end_turn", e.run("go"))
		require.Contains(t, e.updates(), "agent: Answer"+hostile)
	})
}

// TestEncodingChangesNoText: a value that is encoded is not changed itself.
func TestEncodingChangesNoText(t *testing.T) {
	p := protocol.PermissionParams{ToolCall: protocol.ToolCall{Title: hostile, Content: []protocol.ToolContent{protocol.TextContent(hostile)}}, Options: []protocol.PermissionOption{{Name: hostile}}}
	encoded(t, p)
	require.Equal(t, hostile, p.ToolCall.Title)
	require.Equal(t, hostile, *p.ToolCall.Content[0].Content.Text)
	require.Equal(t, hostile, p.Options[0].Name)
}

// TestPermissionShowsWhatItRuns: from droid to the editor's buttons.
func TestPermissionShowsWhatItRuns(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		tool := touch
		tool.Input = fakedroid.Fields{"command": "rm -rf /" + hostile}
		tool.Details = fakedroid.Fields{"fullCommand": "rm -rf /" + hostile, "impactLevel": "medium"}
		e := begin(t, playing(uses(tool), v))
		var raw json.RawMessage
		e.onAsk = func(_, params json.RawMessage) bool { raw = params; return false }
		require.Equal(t, "end_turn", e.run("go"))
		var p permission
		require.NoError(t, json.Unmarshal(raw, &p))
		require.Contains(t, p.ToolCall.Title, `rm -rf /\x1b[2K\x1b[1A`)
		requireSafe(t, encoded(t, p.ToolCall.Title), false)
		require.Contains(t, *p.ToolCall.Content[0].Content.Text, `rm -rf /\x1b[2K\x1b[1A`)
		requireSafe(t, encoded(t, *p.ToolCall.Content[0].Content.Text), true)
	})
}

// TestOwnWordsAreSafe: what this agent says of titles, servers and files.
func TestOwnWordsAreSafe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		e.inside(func(s *Session) { s.translate(quirks.TitleChanged{Title: hostile}); s.tell("title: " + hostile) })
		got := strings.Join(e.updates(), "\n")
		require.Contains(t, got, `title: \x1b[2K`)
		for line := range strings.Lines(got) {
			requireSafe(t, strings.TrimSuffix(line, "\n"), false)
		}
	})
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	if text, ok := v.(string); ok {
		v = text
	}
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

// requireSafe looks at all texts in a piece of JSON.
func requireSafe(t *testing.T, shown string, lines bool) {
	t.Helper()
	var v any
	if json.Unmarshal([]byte(shown), &v) != nil {
		v = shown
	}
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case string:
			for _, r := range v {
				require.True(t, unicode.IsPrint(r) || (lines && r == '\n'), "%q in %q", r, v)
			}
		case map[string]any:
			for _, one := range v {
				look(one)
			}
		case []any:
			for _, one := range v {
				look(one)
			}
		}
	}
	look(v)
}

// TestChoiceOfAFormIsToldInDroidsWords: the editor gives back the option as it was
// shown.
func TestChoiceOfAFormIsToldInDroidsWords(t *testing.T) {
	options := []string{"plain", hostile}
	for raw, want := range map[string]string{
		encoded(t, visible.Line(hostile)):                            strings.TrimSpace(hostile),
		encoded(t, []string{"plain", visible.Line(hostile), "more"}): "plain, " + hostile + ", more",
		`"own words"`: "own words",
	} {
		require.Equal(t, want, formText(json.RawMessage(raw), options...))
	}
}

// TestWhatIsShownBeforeIsSafe: what an editor shows that shows no more of a request
// than its title is as safe as the request.
func TestWhatIsShownBeforeIsSafe(t *testing.T) {
	steered := touch
	steered.Input = fakedroid.Fields{"command": "touch a" + hostile}
	steered.Details = fakedroid.Fields{"fullCommand": "touch a" + hostile, "impactLevel": "medium", "riskLevelReason": "none" + hostile}
	for name, tools := range map[string][]fakedroid.Tool{"one": {steered}, "several": {steered, create}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				e := beginNamed(t, "", "{}", playing(uses(tools...), fakedroid.WithVersion(fakedroid.V099)))
				var before []string
				e.ask = func(p permission) string {
					before = append(before, e.messages())
					var content []protocol.ToolContent
					_ = json.Unmarshal([]byte(e.lastContent(p.ToolCall.ToolCallID)), &content)
					for _, c := range content {
						if c.Content != nil && c.Content.Text != nil {
							before = append(before, *c.Content.Text)
						}
					}
					return ""
				}
				require.Equal(t, "end_turn", e.run("go"))
				require.Contains(t, strings.Join(before, ""), `touch a\x1b[2K`)
				for _, text := range before {
					requireSafe(t, encoded(t, text), true)
				}
			})
		})
	}
}
