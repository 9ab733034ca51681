package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
)

// teller renders the calls of one of droid's tools: started the input, ended the outcome.
type teller struct {
	started func(b *builder, c *call)
	ended   func(b *builder, c *call, ev quirks.ToolEnded)
}

// tellers holds the tools that are not rendered by default, by name.
var tellers = map[string]teller{
	"Execute":      {startedCommand, endedCommand},
	"Create":       {startedEdit, endedEdit},
	"Edit":         {startedEdit, endedEdit},
	"MultiEdit":    {startedEdit, endedEdit},
	"ApplyPatch":   {startedEdit, endedEdit},
	"TodoWrite":    {startedTasks, endedTasks},
	"ExitSpecMode": {startedPlan, endedPlan},
	"AskUser":      {startedQuestions, endedQuestions},
	"Task":         {startedSubagent, endedSubagent},
}

func tellerOf(tool string) teller {
	if t, ok := tellers[tool]; ok {
		return t
	}
	return teller{startedOther, endedOther}
}

// started adds a call.
func (b *builder) started(ev quirks.ToolStarted) {
	label := show.Label(ev.Name)
	title := strings.TrimSpace(strings.TrimPrefix(show.Title(ev.Name, ev.Input, b.CWD), label))
	c := &call{b.page.Call(Call{Tool: label, Title: title}), ev.Input}
	b.calls[ev.ID] = c
	tellerOf(ev.Name).started(b, c)
}

// ended completes a call. Images are shown for every tool.
func (b *builder) ended(ev quirks.ToolEnded) {
	b.page.Break()
	c := b.calls[ev.ID]
	if c == nil {
		return
	}
	switch {
	case ev.Unfinished:
		c.State = Unfinished
	case ev.IsError:
		c.State, c.Folded = Failed, false
	}
	tellerOf(ev.Name).ended(b, c, ev)
	for _, r := range show.ResultContent(ev.Content) {
		if r.Content != nil && r.Content.Text == nil {
			c.Image(r.Content.MimeType, r.Content.Data)
		}
	}
}

// field returns a string field of the call's input, or "".
func (c *call) field(name string) (text string) {
	_ = json.Unmarshal(protocol.Fields(c.input)[name], &text) // the model may have sent anything
	return text
}

// startedOther shows the input if it contains more than the title.
func startedOther(_ *builder, c *call) {
	c.Folded = true
	if len(protocol.Fields(c.input)) < 2 {
		return
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, c.input, "", "  ") == nil {
		c.Input = pretty.String()
	}
}

func endedOther(_ *builder, c *call, ev quirks.ToolEnded) { c.Result = show.ResultText(ev.Content) }

// startedCommand shows the command below the model's summary.
func startedCommand(_ *builder, c *call) { c.Command, c.Title = c.field("command"), c.field("summary") }

func endedCommand(_ *builder, c *call, ev quirks.ToolEnded) {
	end := show.EndOfCommand(ev.Content)
	c.Output, c.Note, c.Exit = end.Output, end.Note, end.Exit
	c.Cut = strings.Contains(end.Output, " lines skipped ...]") // added by droid (0.99 to 0.225)
	if end.TimedOut {
		c.State = TimedOut
	}
}

func startedTasks(_ *builder, c *call) {
	entries, _ := show.Tasks(c.input)
	c.Tool, c.Title = "Tasks", ""
	done := 0
	for _, e := range entries {
		c.Tasks = append(c.Tasks, Task{Text: string(e.Content), Status: e.Status})
		if e.Status == protocol.StatusCompleted {
			done++
		}
	}
	if len(entries) > 0 {
		c.Title = fmt.Sprintf("%d of %d done", done, len(entries))
	}
}

func endedTasks(_ *builder, c *call, ev quirks.ToolEnded) {
	if ev.IsError || len(c.Tasks) == 0 {
		c.Note = show.ResultText(ev.Content)
	}
}

func startedPlan(_ *builder, c *call) {
	c.Tool, c.Title, c.Plan = "Plan", c.field("title"), show.Plan(c.input)
}

// endedPlan shows the outcome of the plan.
func endedPlan(_ *builder, c *call, ev quirks.ToolEnded) {
	end := show.EndOfPlan(ev.Content)
	switch {
	case !end.Approved:
		c.Note = show.ResultText(ev.Content)
		return
	case end.Edited:
		c.Note = "Approved after an edit; this is the plan as it was proposed."
	default:
		c.Note = "Approved."
	}
	if end.File != "" {
		c.Note += " It is saved in " + end.File
	}
}

func startedQuestions(_ *builder, c *call) {
	for _, q := range show.Questionnaire(c.field("questionnaire")) {
		c.Questions = append(c.Questions, Question{Text: q.Question, Options: q.Options})
	}
	c.Tool, c.Title = "Questions", ""
	if len(c.Questions) == 1 {
		c.Tool = "Question"
	}
}

// endedQuestions assigns the answers to their questions; any other text is shown below.
func endedQuestions(_ *builder, c *call, ev quirks.ToolEnded) {
	text := show.ResultText(ev.Content)
	answers := show.Questionnaire(text)
	if ev.IsError || len(answers) == 0 || len(answers) != len(c.Questions) {
		c.Note = text
		return
	}
	for i, a := range answers {
		c.Questions[i].Answer = a.Answer
		if a.Question != c.Questions[i].Text {
			c.Note = text
		}
	}
}

func startedSubagent(_ *builder, c *call) {
	c.Tool, c.Title, c.Prompt, c.Folded = "Subagent", c.field("description"), c.field("prompt"), true
	if kind := c.field("subagent_type"); kind != "" {
		c.Title = strings.TrimSuffix(kind+": "+c.Title, ": ")
	}
}

func endedSubagent(_ *builder, c *call, ev quirks.ToolEnded) {
	switch text := show.TaskAnswer(show.ResultText(ev.Content)); {
	case ev.Background: // SubagentEnded follows
	case ev.IsError:
		c.Note = text
	default:
		c.Answer = text
	}
}

// endedInBackground shows the outcome of a subagent that continued after its call.
func (b *builder) endedInBackground(ev quirks.SubagentEnded) {
	if c := b.calls[ev.ToolID]; c != nil {
		c.Note, c.Answer = show.EndOfSubagent(ev), ev.Answer
	}
}

// startedEdit shows the change requested by the input.
func startedEdit(b *builder, c *call) { c.Changes = b.planned(c) }

// endedEdit shows the change with context from droid's result, or else from the input. A successful call shows nothing else.
func endedEdit(b *builder, c *call, ev quirks.ToolEnded) {
	if ev.IsError {
		c.Note = show.ResultText(ev.Content)
		return
	}
	if change, ok := b.edited(ev.Content); ok {
		c.Changes = []Change{change}
	}
	c.Note = show.NotChanged(b.CWD, ev.Content)
	if len(c.Changes) == 0 {
		c.Note = show.ResultText(ev.Content)
	}
	if len(c.Changes) > 0 && c.Title == "" { // the input of a patch has no file name
		c.Title = strings.Join(slices.Compact(names(c.Changes)), ", ")
	}
}

func names(changes []Change) (list []string) {
	for _, c := range changes {
		list = append(list, c.File)
	}
	return list
}
