package adapter

import (
	"encoding/json"
	"time"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
)

// translate gives one honest event to the editor.
func (s *Session) translate(ev quirks.Event) {
	if s.isVoid(ev) {
		return
	}
	switch ev.(type) {
	case quirks.Text, quirks.Notice, quirks.ToolStarted:
		s.prompts.machine.Spoke()
	}
	if s.announceFor(ev) || s.turnEvent(ev) {
		return
	}
	switch ev := ev.(type) {
	case quirks.Text:
		s.sendText(ev.MessageID, ev.Text, ev.Thought)
	case quirks.AnswerContinues:
		s.border.message.open = false
	case quirks.TextRetracted:
		s.tell("The model's answer broke off; what it had said of it above is void. It answers again.")
	case quirks.TextRestarted:
		if ev.Void > 0 { // of thinking that came twice nothing need be said
			s.tell("The model's answer broke off and came again: above, what stands before “" + shorten(firstLine(ev.Text), 60) + "” is void.")
		}
	case quirks.Notice:
		s.tell(plain(ev.Text))
	case quirks.Retrying:
		s.retrying(ev)
	case quirks.ToolStarted:
		s.toolStarted(ev)
	case quirks.ToolInput:
		s.toolInput(ev)
	case quirks.ToolRunning:
		s.toolStatus(ev.ID, protocol.StatusInProgress)
	case quirks.ToolProgress:
		s.toolProgress(ev)
	case quirks.ToolEnded:
		s.toolEnded(ev)
	case quirks.PermissionAsked:
		s.askPermission(ev)
	case quirks.QuestionAsked:
		s.askQuestions(ev)
	case quirks.AskWithdrawn:
		s.askWithdrawn(ev.RequestID)
	case quirks.SettingsChanged:
		s.options.reported(ev.Settings)
		s.tellOptions()
	case quirks.TitleChanged:
		s.thread.call(ev.Title)
		s.tellTitle(ev.Title)
	case quirks.UsageChanged:
		s.usage.changed(ev) // usage_update needs the window's size, see tellUsage
	case quirks.UserText:
		s.send(s.userText(ev))
	case quirks.UserImage:
		s.send(userImage(ev))
	case quirks.Other:
		s.aside(ev.Event)
	}
}

func (s *Session) toolStarted(ev quirks.ToolStarted) {
	s.tools[ev.ID] = protocol.StatusPending
	s.toolIDs[ev.ID] = struct{}{}
	view := s.views.add(ev.ID, ev.Name)
	if view.todo != nil {
		view.todo.input = ev.Input
		return
	}
	s.hold(ev)
	if s.views.past {
		s.announce(ev.ID) // with its whole input
	}
}

// toolInput shows the input of a call that was announced without.
func (s *Session) toolInput(ev quirks.ToolInput) {
	if t := s.views.get(ev.ID).todo; t != nil {
		t.input = ev.Input
		return
	}
	update := s.describe(ev.ID, ev.Name, ev.Input)
	update.SessionUpdate = "tool_call_update"
	s.send(update)
}

// describe is what a tool call with this input looks like, and notes what an
// edit is about to change and what a plan says.
func (s *Session) describe(id, name string, input json.RawMessage) protocol.ToolCall {
	in := parseToolInput(input)
	raw := object(input)
	call := protocol.ToolCall{
		ToolCallID: id,
		Title:      toolTitle(name, in, s.cwd),
		Kind:       toolKind(name),
		Locations:  toolLocations(name, in, s.cwd, s.firstLine()),
		RawInput:   boundedInput(raw),
	}
	switch view := s.views.get(id); {
	case raw == nil:
	case view.edit != nil:
		s.plan(view.edit, name, input)
		describeEdit(&call, s.cwd, view.edit.changes)
	case view.plan != nil && !view.plan.edited:
		view.plan.text = inputPlan(input)
	}
	return call
}

// firstLine is the number that droid gives the first line of a file.
func (s *Session) firstLine() int {
	if s.proc.has(stream.CountsLinesFromOne) {
		return 1
	}
	return 0
}

// describeEdit names the files that change, where the input does not.
func describeEdit(call *protocol.ToolCall, cwd string, changes []change) {
	if len(changes) == 0 {
		return
	}
	if call.Locations == nil {
		call.Title += " " + fileNames(cwd, changes, nil)
	}
	call.Locations = changeLocations(changes)
}

// toolStatus moves a call on, never back.
func (s *Session) toolStatus(id, status string) {
	if s.tools[id] == status {
		return
	}
	s.tools[id] = status
	if s.views.get(id).todo != nil {
		return
	}
	update := protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: id, Status: status}
	if s.views.get(id).command != nil {
		s.commandRuns(&update)
	}
	s.send(update)
}

func (s *Session) toolProgress(ev quirks.ToolProgress) {
	switch view := s.views.get(ev.ID); {
	case view.todo != nil:
		return
	case view.command != nil:
		s.commandProgress(ev.ID, view.command, ev.Update)
		return
	case view.task != nil:
		s.taskProgress(ev.ID, view.task, ev.Update)
		return
	}
	text := ev.Update.Text
	if text == "" {
		text = ev.Update.Error
	}
	if text == "" {
		return
	}
	s.send(protocol.ToolCall{
		SessionUpdate: "tool_call_update",
		ToolCallID:    ev.ID,
		Content:       []protocol.ToolContent{protocol.TextContent(text)},
	})
}

func (s *Session) toolEnded(ev quirks.ToolEnded) {
	delete(s.tools, ev.ID)
	view := s.views.get(ev.ID)
	defer s.views.remove(ev.ID)
	update := protocol.ToolCall{
		SessionUpdate: "tool_call_update",
		ToolCallID:    ev.ID,
		Status:        protocol.StatusCompleted,
	}
	if ev.IsError || isUnknownTool(ev) {
		update.Status = protocol.StatusFailed
	}
	switch {
	case view.todo != nil:
		s.todoEnded(ev, view.todo, update)
		return
	case view.command != nil:
		s.commandEnded(ev, view.command, &update)
	case view.task != nil:
		s.taskEnded(ev, view.task, &update)
	case view.edit != nil:
		s.editEnded(ev, view.edit, &update)
	case view.plan != nil:
		s.planEnded(ev, view.plan, &update)
	case !ev.Unfinished: // else what it said so far stays
		update.Content = resultContent(ev.Content)
	}
	s.send(update)
}

// isUnknownTool tells the result of a tool that does not exist, which 0.99 calls
// no error.
func isUnknownTool(ev quirks.ToolEnded) bool {
	return resultText(ev.Content) == "Unknown tool: "+ev.Name
}

// object passes JSON objects on and leaves out what is still empty.
func object(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || len(fields) == 0 {
		return nil
	}
	return raw
}

// droidAnswered tells the normaliser that droid has its answer; what it held back
// comes now.
func (s *Session) droidAnswered(requestID string, refused bool) {
	s.apply(s.proc.answered(time.Now(), requestID, refused))
}
