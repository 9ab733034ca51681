package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// toolRenderer renders the calls of one of droid's tools: started the input, ended the outcome.
type toolRenderer struct {
	started func(b *builder, c *openCall)
	ended   func(b *builder, c *openCall, ev quirks.ToolEnded)
}

// toolRenderers holds the tools that are not rendered by default, by name.
var toolRenderers = map[string]toolRenderer{
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

func rendererOf(tool string) toolRenderer {
	if t, ok := toolRenderers[tool]; ok {
		return t
	}
	return toolRenderer{startedOther, endedOther}
}

// started adds a call.
func (b *builder) started(ev quirks.ToolStarted) {
	label := render.Label(ev.Name)
	title := strings.TrimSpace(strings.TrimPrefix(render.Title(ev.Name, ev.Input, b.CWD), label))
	c := &openCall{b.page.addCall(toolCall{Tool: label, Title: title}), ev.Input}
	b.calls[ev.ID] = c
	rendererOf(ev.Name).started(b, c)
}

// ended completes a call. Images are shown for every tool.
func (b *builder) ended(ev quirks.ToolEnded) {
	b.page.endPart()
	c := b.calls[ev.ID]
	if c == nil {
		return
	}
	switch {
	case ev.Unfinished:
		c.State = callUnfinished
	case ev.IsError:
		c.State, c.Folded = callFailed, false
	}
	rendererOf(ev.Name).ended(b, c, ev)
	for _, r := range render.ResultContent(ev.Content) {
		if r.Content != nil && r.Content.Text == nil {
			c.addImage(r.Content.MimeType, r.Content.Data)
		}
	}
}

// field returns a string field of the call's input, or "".
func (c *openCall) field(name string) (text string) {
	_ = json.Unmarshal(protocol.Fields(c.input)[name], &text) // the model may have sent anything
	return text
}

// startedOther shows the input if it contains more than the title.
func startedOther(_ *builder, c *openCall) {
	c.Folded = true
	if len(protocol.Fields(c.input)) < 2 {
		return
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, c.input, "", "  ") == nil {
		c.Input = pretty.String()
	}
}

func endedOther(_ *builder, c *openCall, ev quirks.ToolEnded) {
	c.Result = render.ResultText(ev.Content)
}

// startedCommand shows the command below the model's summary.
func startedCommand(_ *builder, c *openCall) {
	c.Command, c.Title = c.field("command"), c.field("summary")
}

func endedCommand(_ *builder, c *openCall, ev quirks.ToolEnded) {
	end := render.ParseCommandResult(ev.Content)
	c.Output, c.Note, c.Exit = end.Output, end.Note, end.Exit
	c.Cut = strings.Contains(end.Output, " lines skipped ...]") // added by droid (0.99 to 0.225)
	if end.TimedOut {
		c.State = callTimedOut
	}
}

func startedTasks(_ *builder, c *openCall) {
	entries, _ := render.ParseTasks(c.input)
	c.Tool, c.Title = "Tasks", ""
	done := 0
	for _, e := range entries {
		c.Tasks = append(c.Tasks, taskEntry{Text: string(e.Content), Status: e.Status})
		if e.Status == protocol.StatusCompleted {
			done++
		}
	}
	if len(entries) > 0 {
		c.Title = fmt.Sprintf("%d of %d done", done, len(entries))
	}
}

func endedTasks(_ *builder, c *openCall, ev quirks.ToolEnded) {
	if ev.IsError || len(c.Tasks) == 0 {
		c.Note = render.ResultText(ev.Content)
	}
}

func startedPlan(_ *builder, c *openCall) {
	c.Tool, c.Title, c.Plan = "Plan", c.field("title"), render.ParsePlan(c.input)
}

// endedPlan shows the outcome of the plan.
func endedPlan(_ *builder, c *openCall, ev quirks.ToolEnded) {
	end := render.ParsePlanResult(ev.Content)
	switch {
	case !end.Approved:
		c.Note = render.ResultText(ev.Content)
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

func startedQuestions(_ *builder, c *openCall) {
	for _, q := range render.ParseQuestionnaire(c.field("questionnaire")) {
		c.Questions = append(c.Questions, questionEntry{Text: q.Question, Options: q.Options})
	}
	c.Tool, c.Title = "Questions", ""
	if len(c.Questions) == 1 {
		c.Tool = "Question"
	}
}

// endedQuestions assigns the answers to their questions; any other text is shown below.
func endedQuestions(_ *builder, c *openCall, ev quirks.ToolEnded) {
	text := render.ResultText(ev.Content)
	answers := render.ParseQuestionnaire(text)
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

func startedSubagent(_ *builder, c *openCall) {
	c.Tool, c.Title, c.Prompt, c.Folded = "Subagent", c.field("description"), c.field("prompt"), true
	if kind := c.field("subagent_type"); kind != "" {
		c.Title = strings.TrimSuffix(kind+": "+c.Title, ": ")
	}
}

func endedSubagent(_ *builder, c *openCall, ev quirks.ToolEnded) {
	switch text := render.TaskAnswer(render.ResultText(ev.Content)); {
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
		c.Note, c.Answer = render.SubagentOutcome(ev), ev.Answer
	}
}

// startedEdit shows the change requested by the input.
func startedEdit(b *builder, c *openCall) { c.Changes = b.planned(c) }

// endedEdit shows the change with context from droid's result, or else from the input. A successful call shows nothing else.
func endedEdit(b *builder, c *openCall, ev quirks.ToolEnded) {
	if ev.IsError {
		c.Note = render.ResultText(ev.Content)
		return
	}
	if change, ok := b.edited(ev.Content); ok {
		c.Changes = []fileDiff{change}
	}
	c.Note = render.NotChanged(b.CWD, ev.Content)
	if len(c.Changes) == 0 {
		c.Note = render.ResultText(ev.Content)
	}
	if len(c.Changes) > 0 && c.Title == "" { // the input of a patch has no file name
		c.Title = strings.Join(slices.Compact(names(c.Changes)), ", ")
	}
}

func names(changes []fileDiff) (list []string) {
	for _, c := range changes {
		list = append(list, c.File)
	}
	return list
}
