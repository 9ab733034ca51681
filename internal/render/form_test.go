package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/acptest"
	"droid-acp/internal/text/visible"
)

// hostile has characters that must not be displayed as they are.
const hostile = "\x1b[2K\x1b[1A\r\u202e\u009b1A\u200b\nsecond"

// TestPermissionTextIsSafe: it is also shown outside of the request.
func TestPermissionTextIsSafe(t *testing.T) {
	text := permissionText(stream.PermissionToolUse{Confirmation: "exec",
		Details: stream.PermissionDetails{FullCommand: hostile, ImpactLevel: "low", RiskLevelReason: hostile}}, false)
	require.NoError(t, acptest.CheckSafe(text, true))
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

func encoded(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

// A question with options has a choice and a field for other words, one without has a
// field that must be filled; where several may be picked, the other words come besides.
func TestQuestionForm(t *testing.T) {
	const instead, besides = "Your answer in your own words, in place of the choice above", "Your answer in your own words, besides the choices above"
	require.Equal(t, &protocol.ElicitationParams{ToolCallID: "t", Mode: "form", Message: "Droid has 3 questions", Schema: protocol.FormSchema{Type: "object",
		Required: []string{"question_02"}, Properties: map[string]protocol.FormField{
			"question_01":       {Type: "string", Title: "1. Color", Description: "Which color?", Enum: []protocol.Line{"Red"}},
			"question_01_other": {Type: "string", Title: "1. Color: other", Description: instead, Meta: protocol.CustomAnswerFor("question_01")},
			"question_02":       {Type: "string", Title: "2. Question", Description: "Why?", MinLength: 1},
			"question_03":       {Type: "array", Title: "3. Parts", Description: "Which parts?", Items: &protocol.FormItems{Type: "string", Enum: []protocol.Line{"A", "B"}}},
			"question_03_other": {Type: "string", Title: "3. Parts: other", Description: besides, Meta: protocol.CustomAnswerFor("question_03")},
		}}}, questionForm("t", []stream.Question{
		{Topic: "Color", Question: "Which color?", Options: []string{"Red"}},
		{Question: "Why?"},
		{Topic: "Parts", Question: "Which parts?", Options: []string{"A", "B"}, MultiSelect: true},
	}))
	one := questionForm("t", []stream.Question{{Question: "Why?"}})
	require.EqualValues(t, "Why?", one.Message)
	require.Equal(t, protocol.FormField{Type: "string", Title: "Question", MinLength: 1}, one.Schema.Properties["question_01"], "the question stands in the form once")
}

// The user's own words count, and the choice where they have none; where several may be
// picked, both do.
func TestFormAnswers(t *testing.T) {
	for _, tc := range []struct {
		several       bool
		choice, words string
		want          string
	}{
		{false, `"A"`, `"mine"`, "mine"},
		{false, `"A"`, `" "`, "A"},
		{false, `null`, `"mine"`, "mine"},
		{false, `null`, `null`, noAnswer},
		{true, `["A","B"]`, `"mine"`, "A, B, mine"},
		{true, `["A"]`, `""`, "A"},
		{true, `[]`, `"mine"`, "mine"},
		{true, `[]`, `""`, noAnswer},
		{false, `7`, `null`, "7"},
	} {
		q := stream.Question{Index: 3, Question: "Which?", Options: []string{"A", "B"}, MultiSelect: tc.several}
		got := formAnswers([]stream.Question{q}, map[string]json.RawMessage{"question_01": json.RawMessage(tc.choice), "question_01_other": json.RawMessage(tc.words)})
		require.Equal(t, stream.Answers{Answers: []stream.Answer{{Index: 3, Question: "Which?", Answer: tc.want}}}, got, tc)
	}
}
