package quirks

// What droid does: to a question for which the model gave no options it adds Yes and No, even to "What should it be called?". The tool's
// input shows that it had none.
// Seen on: 0.99, 0.225.
// Quirk: 37.
// Fixtures: ask_user_free_text_0.225.txtar.

import (
	"encoding/json"
	"slices"
	"strings"

	"droid-acp/internal/droid/stream"
)

// dropInventedOptions removes the options that droid added to the questions of an AskUser. It keeps all options if the input does not show
// which are the model's.
func dropInventedOptions(questions []stream.Question, in json.RawMessage) []stream.Question {
	var asked struct{ Questionnaire string }
	_ = json.Unmarshal(in, &asked) // the model may have sent anything
	parts := strings.Split(strings.ToLower(asked.Questionnaire), "[question]")[1:]
	if len(parts) != len(questions) {
		return questions
	}
	questions = slices.Clone(questions)
	for i, q := range questions {
		if slices.Equal(q.Options, []string{"Yes", "No"}) && !strings.Contains(parts[i], "[option]") {
			questions[i].Options = nil
		}
	}
	return questions
}
