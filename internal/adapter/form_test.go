package adapter

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/testing/fakedroid"
)

var threeQuestions = []fakedroid.Question{
	{Topic: "Color", Question: "Which color?", Options: []string{"Red", "Blue"}},
	{Topic: "Size", Question: "Which size?", Options: []string{"S", "L"}},
	{Question: "Your name?"},
}

// What droid is told of a question without an answer.
const (
	declined   = "(The user declined to answer this question.)"
	unanswered = "(The user left this question unanswered.)"
	later      = "(The user gives their own answer in their next message. End your turn now and wait for it.)"
)

const formClient = `{"elicitation":{"form":{}}}`

func TestQuestionsInAForm(t *testing.T) {
	for name, tc := range map[string]struct {
		result string
		want   []string // nil: cancelled
	}{
		"filled": {`{"action":"accept","content":{"question_01":"Blue","question_02_other":"XXL","question_03":"Ada"}}`, []string{"Blue", "XXL", "Ada"}},
		"partly": {`{"action":"accept","content":{"question_01":"Blue","question_02":7}}`, []string{"Blue", "7", unanswered}},
		"own words before the choice": {`{"action":"accept","content":{"question_01":"Blue","question_01_other":"Green","question_02":"S","question_03":"Ada"}}`,
			[]string{"Green", "S", "Ada"}},
		"declined":       {`{"action":"decline"}`, []string{declined, declined, declined}},
		"cancelled":      {`{"action":"cancel"}`, nil},
		"of the future":  {`{"action":"_later"}`, nil},
		"without action": {`{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				var got []string
				refused := false
				e := beginAs(t, formClient, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
					answers, err := d.AskUser("", threeQuestions...)
					got, refused = answers, errors.Is(err, fakedroid.ErrRefused)
					return err
				}), v))
				forms := 0
				e.onForm = func(p protocol.ElicitationParams) string {
					forms++
					require.Equal(t, e.session, p.SessionID)
					require.NotEmpty(t, p.ToolCallID)
					require.Equal(t, "form", p.Mode)
					require.EqualValues(t, "Droid has 3 questions", p.Message)
					require.Equal(t, []string{"question_03"}, p.Schema.Required)
					require.Len(t, p.Schema.Properties, 5)
					require.Equal(t, protocol.FormField{Type: "string", Title: "1. Color", Description: "Which color?", Enum: []protocol.Line{"Red", "Blue"}},
						p.Schema.Properties["question_01"])
					return tc.result
				}
				require.Equal(t, "end_turn", e.run("ask me"))
				require.Equal(t, 1, forms)
				if tc.want != nil {
					require.Equal(t, tc.want, got)
				} else if !refused {
					require.Equal(t, []string{"", "", ""}, got)
				}
			})
		})
	}
}

// A cancelled turn takes the form back and droid has its answer.
func TestCancelWhileAFormIsOpen(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := beginAs(t, formClient, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			_, err := d.AskUser("", threeQuestions...)
			return err
		}), v))
		id := e.prompt("ask me")
		require.Contains(t, methods(e), "elicitation/create")
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
		require.Contains(t, methods(e), "$/cancel_request")
	})
}

func methods(e *editor) []string {
	var out []string
	for _, m := range e.received() {
		out = append(out, m.Method)
	}
	return out
}
