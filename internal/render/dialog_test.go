package render

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// named is a client that shows what options are called, formed one that has forms too.
var (
	named  = protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{ShowsOptionNames: true, ShowsRequestContent: true}}
	formed = protocol.ClientCapabilities{Forms: true, ClientProfile: named.ClientProfile}
)

// answering runs a dialog with these answers: an option of a choice, or the JSON of a form's result. It returns the questions: the ids of
// the options, or "form".
func answering(t *testing.T, d Dialog, answers ...string) (asked []string) {
	t.Helper()
	for step, more := d.Next(); more; step, more = d.Next() {
		require.NotEmpty(t, answers, "asked once more: %v", asked)
		answer := answers[0]
		answers = answers[1:]
		if step.Form != nil {
			asked = append(asked, "form")
			var result *protocol.ElicitationResult
			require.NoError(t, json.Unmarshal([]byte(answer), &result))
			d.FormFilled(result)
			continue
		}
		ids := ""
		for _, o := range step.Choice.Options {
			ids += o.OptionID + " "
		}
		asked = append(asked, ids[:max(0, len(ids)-1)])
		d.OptionChosen(answer)
	}
	require.Empty(t, answers, "not asked: %v", asked)
	return asked
}

// planAsked asks about a plan that may be edited.
func planAsked() quirks.PermissionRequested {
	return quirks.PermissionRequested{RequestID: "r",
		Tools: []stream.PermissionToolUse{{ToolUse: stream.ToolUse{ID: "t", Name: "ExitSpecMode"}, Confirmation: confirmSpec,
			Details: stream.PermissionDetails{Plan: "# Do  it\n"}}},
		Options: []stream.PermissionOption{{Value: stream.OptionOnce, Label: "Go"}, {Value: stream.OptionCancel, Label: "No"}}}
}

func TestPlanDialog(t *testing.T) {
	accept := func(text string) string { return fmt.Sprintf(`{"action":"accept","content":{"plan":%q}}`, text) }
	const choice, bare = "proceed_once edit_plan cancel", "proceed_once cancel"
	refused := Decision{Option: stream.OptionCancel}
	for name, tc := range map[string]struct {
		answers []string
		asked   []string
		want    Decision
	}{
		"approved":           {[]string{"proceed_once"}, []string{choice}, Decision{Option: "proceed_once"}},
		"refused":            {[]string{"cancel"}, []string{choice}, refused},
		"dismissed":          {[]string{""}, []string{choice}, refused},
		"not offered":        {[]string{"proceed_edit"}, []string{choice}, refused},
		"edited":             {[]string{EditOption, accept(" # Do that\n")}, []string{choice, "form"}, Decision{Option: stream.OptionEdit, Edited: "# Do that"}},
		"only spaces":        {[]string{EditOption, accept("# Do it")}, []string{choice, "form"}, Decision{Option: stream.OptionOnce}},
		"emptied":            {[]string{EditOption, accept(" "), "cancel"}, []string{choice, "form", choice}, refused},
		"declined":           {[]string{EditOption, `{"action":"decline"}`, "proceed_once"}, []string{choice, "form", choice}, Decision{Option: "proceed_once"}},
		"no text":            {[]string{EditOption, `{"action":"accept","content":{"plan":["x"]}}`, "cancel"}, []string{choice, "form", choice}, refused},
		"dismissed after":    {[]string{EditOption, `{"action":"cancel"}`, ""}, []string{choice, "form", choice}, refused},
		"no forms after all": {[]string{EditOption, `null`, EditOption}, []string{choice, "form", bare}, refused},
		"approved then":      {[]string{EditOption, `null`, "proceed_once"}, []string{choice, "form", bare}, Decision{Option: "proceed_once"}},
		"edited at last": {[]string{EditOption, `{}`, EditOption, `{}`, EditOption, `{}`, EditOption, `{}`, EditOption, accept("x")},
			[]string{choice, "form", choice, "form", choice, "form", choice, "form", choice, "form"}, Decision{Option: stream.OptionEdit, Edited: "x"}},
		"by itself": {[]string{EditOption, `{}`, EditOption, `{}`, EditOption, `{}`, EditOption, `{}`, EditOption, `{}`},
			[]string{choice, "form", choice, "form", choice, "form", choice, "form", choice, "form"}, refused},
	} {
		t.Run(name, func(t *testing.T) {
			p := newHarness(formed).Permission(planAsked(), nil, PermissionContext{EditedPlan: true})
			require.False(t, p.Refused)
			require.Equal(t, refused, p.Decision(), "before it was asked")
			require.Equal(t, tc.asked, answering(t, p, tc.answers...))
			require.Equal(t, tc.want, p.Decision())
		})
	}
}

// A plan may be edited only where everything is there for it.
func TestPlanThatMayNotBeEdited(t *testing.T) {
	for name, change := range map[string]func(*quirks.PermissionRequested, *protocol.ClientCapabilities, *PermissionContext){
		"the client has no forms": func(_ *quirks.PermissionRequested, c *protocol.ClientCapabilities, _ *PermissionContext) {
			c.Forms = false
		},
		"the client shows no names": func(_ *quirks.PermissionRequested, c *protocol.ClientCapabilities, _ *PermissionContext) {
			c.ShowsOptionNames = false
		},
		"droid does not take it": func(_ *quirks.PermissionRequested, _ *protocol.ClientCapabilities, s *PermissionContext) {
			s.EditedPlan = false
		},
		"droid lets nothing go ahead": func(ev *quirks.PermissionRequested, _ *protocol.ClientCapabilities, _ *PermissionContext) {
			ev.Options = ev.Options[1:]
		},
		"there is more to decide on": func(ev *quirks.PermissionRequested, _ *protocol.ClientCapabilities, _ *PermissionContext) {
			ev.Tools = append(ev.Tools, ev.Tools[0])
		},
		"it has lines, and the client's fields have one": func(ev *quirks.PermissionRequested, c *protocol.ClientCapabilities, _ *PermissionContext) {
			ev.Tools[0].Details.Plan, c.SingleLineFields = "# Do it\n\n1. now", true
		},
		"it is no plan": func(ev *quirks.PermissionRequested, _ *protocol.ClientCapabilities, _ *PermissionContext) {
			ev.Tools[0].Confirmation = "exec"
		},
		"there is nothing to be edited": func(ev *quirks.PermissionRequested, _ *protocol.ClientCapabilities, _ *PermissionContext) {
			ev.Tools[0].Details.Plan = " "
		},
	} {
		ev, client, set := planAsked(), formed, PermissionContext{EditedPlan: true}
		change(&ev, &client, &set)
		asked := answering(t, newHarness(client).Permission(ev, nil, set), "x")
		require.NotContains(t, asked[0], EditOption, name)
	}
}

// Of several plans the user picks one, and then says how it may run.
func TestSeveralPlansDialog(t *testing.T) {
	const choice, options = "plan_0 plan_1 cancel", "proceed_once cancel"
	refused := Decision{Option: stream.OptionCancel}
	for name, tc := range map[string]struct {
		answers, asked []string
		want           Decision
	}{
		"picked":                  {[]string{"plan_1", "proceed_once"}, []string{choice, options}, Decision{Option: "proceed_once", Plan: "B"}},
		"picked and refused":      {[]string{"plan_1", "cancel"}, []string{choice, options}, Decision{Option: stream.OptionCancel, Plan: "B"}},
		"picked and dismissed":    {[]string{"plan_0", ""}, []string{choice, options}, refused},
		"none":                    {[]string{"cancel"}, []string{choice}, refused},
		"dismissed":               {[]string{""}, []string{choice}, refused},
		"not offered":             {[]string{"plan_2"}, []string{choice}, refused},
		"an option of the second": {[]string{"proceed_once"}, []string{choice}, refused},
	} {
		ev := planAsked()
		ev.Tools[0].Details.OptionNames = []string{"A", "B"}
		p := newHarness(formed).Permission(ev, nil, PermissionContext{EditedPlan: true})
		require.Equal(t, tc.asked, answering(t, p, tc.answers...), name)
		require.Equal(t, tc.want, p.Decision(), name)
	}
	ev := planAsked()
	ev.Tools[0].Details.OptionNames = []string{"A", "B"}
	p := newHarness(protocol.ClientCapabilities{}).Permission(ev, nil, PermissionContext{})
	require.True(t, p.Refused, "of several plans none is picked blindly")
	require.NotEmpty(t, p.Before)
}

// A plan without a name cannot be named to droid: it is refused, and not asked about again and again.
func TestPlanWithoutAName(t *testing.T) {
	ev := planAsked()
	ev.Tools[0].Details.OptionNames = []string{"", "B"}
	p := newHarness(named).Permission(ev, nil, PermissionContext{})
	require.Equal(t, []string{"plan_0 plan_1 cancel"}, answering(t, p, "plan_0"))
	require.Equal(t, Refusal(), p.Decision())
}

// Unexpected answers refuse, and a finished dialog keeps its decision.
func TestAnswersOutOfTurnRefuse(t *testing.T) {
	refused := Decision{Option: stream.OptionCancel}
	permission := func() *Permission {
		return newHarness(formed).Permission(planAsked(), nil, PermissionContext{EditedPlan: true})
	}
	p := permission()
	require.False(t, p.OptionChosen("proceed_once"), "nothing was shown")
	require.Equal(t, refused, p.Decision())
	p = permission()
	p.Next()
	p.FormFilled(&protocol.ElicitationResult{Action: "accept", Content: map[string]json.RawMessage{planField: json.RawMessage(`"x"`)}})
	require.Equal(t, refused, p.Decision(), "a form that was not shown")
	p = permission()
	p.Next()
	require.True(t, p.OptionChosen(EditOption))
	p.Next()
	p.OptionChosen("proceed_once")
	require.Equal(t, refused, p.Decision(), "a choice while the form is shown")
	p = permission()
	p.Next()
	require.True(t, p.OptionChosen("proceed_once"))
	p.OptionChosen("proceed_once")
	require.Equal(t, refused, p.Decision(), "answered twice")

	q := newHarness(named).Questions(quirks.QuestionRequested{Questions: []stream.Question{{Question: "Which?", Options: []string{"A"}}}})
	require.True(t, q.Answers().Cancelled, "not answered yet")
	require.False(t, q.OptionChosen("answer_0"), "nothing was shown")
	require.True(t, q.Answers().Cancelled)
	q = newHarness(named).Questions(quirks.QuestionRequested{Questions: []stream.Question{{Question: "Which?", Options: []string{"A"}}}})
	q.Next()
	q.FormFilled(&protocol.ElicitationResult{Action: "accept"})
	require.True(t, q.Answers().Cancelled, "a form that was not shown")
	q = newHarness(formed).Questions(quirks.QuestionRequested{Questions: []stream.Question{{Question: "Which?", Options: []string{"A"}}}})
	q.Next()
	q.OptionChosen("answer_0")
	require.True(t, q.Answers().Cancelled, "a choice that was not shown")
	q = newHarness(named).Questions(quirks.QuestionRequested{Questions: []stream.Question{{Question: "Which?", Options: []string{"A"}}}})
	q.Next()
	require.True(t, q.OptionChosen("answer_0"))
	require.Equal(t, "A", q.Answers().Answers[0].Answer)
	q.OptionChosen("answer_0")
	require.True(t, q.Answers().Cancelled, "answered twice")
}

// The button for the form comes before those that refuse, or else at the end.
func TestPlaceOfTheButtonToEdit(t *testing.T) {
	once, no := protocol.PermissionOption{OptionID: "once", Kind: "allow_once"}, protocol.PermissionOption{OptionID: "no", Kind: "reject_once"}
	for want, options := range map[string][]protocol.PermissionOption{
		"once edit_plan no": {once, no}, "edit_plan no": {no}, "once edit_plan": {once}, "edit_plan": nil,
	} {
		var ids []string
		for _, o := range withEdit(options) {
			ids = append(ids, o.OptionID)
		}
		require.Equal(t, want, strings.Join(ids, " "))
	}
}

// Whatever a model puts into its questions, they are read at once: the session waits for that.
func TestQuestionsWithALongAnswer(t *testing.T) {
	const lines = 20_000
	text := "1. [question] Which?\n[answer] one" + strings.Repeat("\nline", lines) + "\n2. [question] Why?\n[answer] two\n[answer] three\n"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	list := ParseQuestionnaire(text)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100*len(text)))
	require.Len(t, list, 2)
	require.Equal(t, "one"+strings.Repeat("\nline", lines), list[0].Answer)
	require.Equal(t, "three", list[1].Answer)
}

func TestPermissionThatNobodyIsAsked(t *testing.T) {
	for name, change := range map[string]func(*quirks.PermissionRequested){
		"no tools":   func(ev *quirks.PermissionRequested) { ev.Tools = nil },
		"no options": func(ev *quirks.PermissionRequested) { ev.Options = nil },
		"no option that may be shown": func(ev *quirks.PermissionRequested) {
			ev.Options = []stream.PermissionOption{{Value: "proceed_new_session_high"}, {Value: stream.OptionEdit}}
		},
	} {
		ev := planAsked()
		change(&ev)
		p := newHarness(formed).Permission(ev, nil, PermissionContext{})
		require.True(t, p.Refused, name)
		require.Empty(t, p.Before, name)
		require.Equal(t, stream.OptionCancel, p.Decision().Option, name)
	}
}

// A client that acts on kinds gets them for ids, and its answer is droid's option again.
func TestOptionsByKind(t *testing.T) {
	p := newHarness(protocol.ClientCapabilities{}).Permission(planAsked(), nil, PermissionContext{})
	require.Equal(t, []string{"allow_once reject_once"}, answering(t, p, "allow_once"))
	require.Equal(t, Decision{Option: stream.OptionOnce}, p.Decision())
	p = newHarness(protocol.ClientCapabilities{}).Permission(planAsked(), nil, PermissionContext{})
	answering(t, p, "proceed_once")
	require.Equal(t, Decision{Option: stream.OptionCancel}, p.Decision(), "droid's id was not shown")

	two := []protocol.PermissionOption{{OptionID: "a", Kind: "allow_once"}, {OptionID: "b", Kind: "allow_once"}}
	require.Equal(t, two, namedByKind(two), "there are two of a kind")
}

func TestQuestionDialog(t *testing.T) {
	color := stream.Question{Index: 3, Topic: "Color", Question: "Which color?", Options: []string{"Red", "Blue"}}
	parts := stream.Question{Index: 4, Question: "Which parts?", Options: []string{"A", "B", "C"}, MultiSelect: true}
	name := stream.Question{Index: 5, Question: "Your name?"}
	told := func(texts ...string) (a stream.Answers) {
		for i, text := range texts {
			q := []stream.Question{color, parts, name}[i]
			a.Answers = append(a.Answers, stream.Answer{Index: q.Index, Question: q.Question, Answer: text})
		}
		return a
	}
	const first, all, words = "answer_0 answer_1 later decline", "answer_0 answer_1 answer_2 later decline", "later decline"
	const picked = "answer_1 answer_2 done later decline"
	cancelled := stream.Answers{Cancelled: true}
	for title, tc := range map[string]struct {
		answers, asked []string
		want           stream.Answers
	}{
		"one of three": {[]string{"answer_1", "answer_2", "done", "later"}, []string{first, all, "answer_0 answer_1 done later decline", words}, told("Blue", "C", laterAnswer)},
		"all": {[]string{"answer_0", "answer_2", "answer_0", "answer_1", "decline"},
			[]string{first, all, "answer_0 answer_1 done later decline", "answer_1 done later decline", words}, told("Red", "C, A, B", declinedAnswer)},
		"declined":                   {[]string{"decline", "decline", "decline"}, []string{first, all, words}, told(declinedAnswer, declinedAnswer, declinedAnswer)},
		"declined after a pick":      {[]string{"answer_0", "answer_0", "decline", "later"}, []string{first, all, picked, words}, told("Red", declinedAnswer, laterAnswer)},
		"something else":             {[]string{"later", "later", "later"}, []string{first, all, words}, told(laterAnswer, laterAnswer, laterAnswer)},
		"a pick, and something else": {[]string{"answer_0", "answer_0", "later", "decline"}, []string{first, all, picked, words}, told("Red", "A, "+laterAnswer, declinedAnswer)},
		"dismissed":                  {[]string{""}, []string{first}, cancelled},
		"the second dismissed":       {[]string{"answer_0", ""}, []string{first, all}, cancelled},
		"not offered":                {[]string{"answer_2"}, []string{first}, cancelled},
		"picked twice":               {[]string{"answer_0", "answer_1", "answer_1"}, []string{first, all, "answer_0 answer_2 done later decline"}, cancelled},
		"done before it is shown":    {[]string{"done"}, []string{first}, cancelled},
	} {
		t.Run(title, func(t *testing.T) {
			q := newHarness(named).Questions(quirks.QuestionRequested{ToolID: "t", Questions: []stream.Question{color, parts, name}})
			require.False(t, q.Refused)
			require.Equal(t, tc.asked, answering(t, q, tc.answers...))
			require.Equal(t, tc.want, q.Answers())
		})
	}
}

// The text of an answer for the model is not shown to people.
func TestAnswersForPeople(t *testing.T) {
	for _, words := range []string{declinedAnswer, noAnswer, laterAnswer, unaskedAnswer} {
		h := newHarness(named)
		text := "1. [question] Which?\n[answer] Red, " + words
		result, err := json.Marshal(text)
		require.NoError(t, err)
		h.Event(h.moment(), quirks.ToolStarted{ID: "t", Name: "AskUser", Input: json.RawMessage(`{"questionnaire":"1. [question] Which?"}`)}, nil)
		out := h.Event(h.moment(), quirks.ToolEnded{ID: "t", Content: result}, nil)
		shown := texts(out[len(out)-1].(protocol.ToolCall).Content)
		require.Contains(t, shown, "Red, (")
		require.NotContains(t, shown, words)
		require.NotContains(t, shown, "End your turn")
		require.NotContains(t, ParseQuestionnaire(text)[0].Answer, words)
	}
}

// The text of one question, and of the questions before it.
func TestQuestionSteps(t *testing.T) {
	parts := stream.Question{Topic: "Parts", Question: "Which parts?", Options: []string{"A", "B"}, MultiSelect: true}
	q := newHarness(named).Questions(quirks.QuestionRequested{ToolID: "t", Questions: []stream.Question{parts, parts}})
	require.Empty(t, q.Before)
	require.EqualValues(t, "2 questions: Which parts?; Which parts?", q.After[0].(protocol.ToolCall).Title)
	step, _ := q.Next()
	require.EqualValues(t, "(1 of 2) Parts", step.Choice.ToolCall.Title)
	require.Equal(t, "t", step.Choice.ToolCall.ToolCallID)
	require.Equal(t, "Which parts?|You may pick several, one after the other.", texts(step.Choice.ToolCall.Content))
	q.OptionChosen("answer_1")
	step, _ = q.Next()
	require.Equal(t, "Which parts?|Picked so far: B", texts(step.Choice.ToolCall.Content))
	q.OptionChosen("answer_0")
	step, _ = q.Next()
	require.EqualValues(t, "(2 of 2) Parts", step.Choice.ToolCall.Title)
	require.Len(t, step.Choice.Options, 4, "picks of the question before do not count")

	one := newHarness(named).Questions(quirks.QuestionRequested{ToolID: "t", Questions: []stream.Question{{Question: "Go?", Options: []string{"Yes"}}}})
	require.EqualValues(t, "Go?", one.After[0].(protocol.ToolCall).Title, "afterwards the call has its question again")
	step, _ = one.Next()
	require.EqualValues(t, "Question", step.Choice.ToolCall.Title, "the question stands there once")
	require.Equal(t, "Go?", texts(step.Choice.ToolCall.Content))
	require.EqualValues(t, "Something else, in my next prompt", step.Choice.Options[1].Name)

	titles := newHarness(protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{ShowsOptionNames: true}})
	alone := titles.Questions(quirks.QuestionRequested{ToolID: "t", Questions: []stream.Question{parts}})
	step, _ = alone.Next()
	require.EqualValues(t, "Which parts?", step.Choice.ToolCall.Title, "no more may be shown of the request")
	require.Empty(t, alone.After)

	free := newHarness(named).Questions(quirks.QuestionRequested{ToolID: "t", Questions: []stream.Question{{Question: "What name?", MultiSelect: true}}})
	step, _ = free.Next()
	require.Equal(t, "What name?", texts(step.Choice.ToolCall.Content), "there is nothing to pick")
	require.EqualValues(t, "Answer in my next prompt", step.Choice.Options[0].Name)
}

func TestQuestionsInOneForm(t *testing.T) {
	ev := quirks.QuestionRequested{ToolID: "t", Questions: []stream.Question{{Question: "Which?", Options: []string{"A", "B"}}, {Question: "Why?"}}}
	for result, want := range map[string][]string{
		`{"action":"accept","content":{"question_01":"B","question_02":"so"}}`: {"B", "so"},
		`{"action":"accept"}`:   {noAnswer, noAnswer},
		`{"action":"decline"}`:  {declinedAnswer, declinedAnswer},
		`{"action":"cancel"}`:   nil,
		`{"action":"of later"}`: nil,
	} {
		q := newHarness(formed).Questions(ev)
		require.Len(t, q.Before, 1)
		require.Empty(t, q.After)
		require.Equal(t, []string{"form"}, answering(t, q, result))
		var got []string
		for _, a := range q.Answers().Answers {
			got = append(got, a.Answer)
		}
		require.Equal(t, want, got, result)
		require.Equal(t, want == nil, q.Answers().Cancelled)
	}
}

// A client that cannot show questions gets them as a message, and the model learns that nobody was asked.
func TestQuestionsAsMessage(t *testing.T) {
	open, closed := stream.Question{Question: "Why?"}, stream.Question{Question: "Which?", Options: []string{"A"}}
	const words = "Please answer in your next prompt."
	for name, tc := range map[string]struct {
		client    protocol.ClientCapabilities
		questions []stream.Question
		refused   bool
		told      string
	}{
		"none":              {formed, nil, true, ""},
		"names do not show": {protocol.ClientCapabilities{}, []stream.Question{closed, open}, true, "Which?\n- A\n\nWhy?\n\n" + words},
		"names show":        {named, []stream.Question{open}, false, ""},
	} {
		q := newHarness(tc.client).Questions(quirks.QuestionRequested{Questions: tc.questions})
		require.Equal(t, tc.refused, q.Refused, name)
		told := ""
		for _, o := range q.Before {
			told += o.(Text).Text
		}
		require.Equal(t, tc.told, told, name)
		require.Equal(t, tc.told == "", q.Answers().Cancelled, name)
		for _, a := range q.Answers().Answers {
			require.Equal(t, unaskedAnswer, a.Answer)
		}
	}
}

// A form that the editor could not show is asked as choices, or sent as a message.
func TestFormThatCouldNotBeShown(t *testing.T) {
	ev := quirks.QuestionRequested{ToolID: "t", Questions: []stream.Question{{Question: "Which?", Options: []string{"A", "B"}}}}
	h := newHarness(formed)
	q := h.Questions(ev)
	require.Equal(t, []string{"form", "answer_0 answer_1 later decline"}, answering(t, q, "null", "answer_1"))
	require.Equal(t, "B", q.Answers().Answers[0].Answer)
	require.Empty(t, h.ShowUnasked(q))

	h = newHarness(protocol.ClientCapabilities{Forms: true})
	q = h.Questions(ev)
	require.Equal(t, []string{"form"}, answering(t, q, "null"))
	require.Equal(t, unaskedAnswer, q.Answers().Answers[0].Answer)
	require.Contains(t, h.ShowUnasked(q)[0].(Text).Text, "- B")
}

// The input of a call that asks is in the form that clients draw as prose.
func TestInputOfAQuestion(t *testing.T) {
	h := newHarness(named)
	h.event(started("q", "AskUser", `{"questionnaire":"1. [question] Which color?\n[topic] Color\n[option] Red\n[option] Blue\n\n2. [question] Why? (multi)\n"}`))
	out := h.Event(h.moment(), ran("q"), nil)
	require.JSONEq(t, `{"questions":[{"question":"Which color?","header":"Color","options":[{"label":"Red"},{"label":"Blue"}]},{"question":"Why?"}]}`,
		string(out[0].(protocol.ToolCall).RawInput))
	h.event(started("r", "AskUser", `{"questionnaire":"odd"}`))
	require.JSONEq(t, `{"questionnaire":"odd"}`, string(h.Event(h.moment(), ran("r"), nil)[0].(protocol.ToolCall).RawInput))
}
