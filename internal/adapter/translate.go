package adapter

import (
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
)

// translate takes one honest event: it sends the editor what there is to show, and
// changes the session accordingly. files are the texts that the event is shown with.
func (s *Session) translate(ev quirks.Event, files show.Files) {
	s.fileCalls.heard(ev, s.cwd)
	if s.isVoid(ev) {
		return
	}
	switch ev.(type) {
	case quirks.Text, quirks.Notice, quirks.ToolStarted:
		s.carryOut(s.prompts.machine.Spoke())
	}
	s.tell(s.show.Event(s.moment(), ev, files)...)
	if s.turnEvent(ev) {
		return
	}
	switch ev := ev.(type) {
	case quirks.PermissionAsked:
		s.askPermission(ev, files)
	case quirks.QuestionAsked:
		s.askQuestions(ev)
	case quirks.AskWithdrawn:
		s.dialog.withdraw(ev.RequestID)
	case quirks.SettingsChanged:
		s.options.Reported(ev.Settings)
		s.tellState()
	case quirks.TitleChanged:
		s.droidTitled(ev.Title)
	case quirks.UsageChanged:
		s.usage.changed(ev) // usage_update needs the window's size, see tellUsage
	case quirks.Other:
		s.aside(ev.Event)
	}
}

// aside takes the events that are no part of a turn's text and tools.
func (s *Session) aside(ev stream.Event) {
	switch ev := ev.(type) {
	case stream.MCPStatusChanged:
		s.mcpStatus(ev)
	case stream.MCPAuthRequired:
		s.loginBegan(ev)
	case stream.MCPAuthCompleted:
		s.loginEnded(ev)
	case stream.SessionSwitched:
		s.followTo(ev.To)
	case stream.HookStarted, stream.HookCompleted, stream.Lost, stream.WorkingStateChanged, stream.SessionCompacted:
		// shown, and nothing more
	default:
		s.log.Debug("event without an ACP form", zap.String("type", ev.Kind()))
	}
}

// moment is now, for what is shown.
func (s *Session) moment() show.Moment {
	return show.Moment{Now: time.Now(), Room: s.out.Full() == nil}
}

// droidAnswered tells the normaliser that droid has the answer to a permission or a
// question, and applies the events that waited for that.
func (s *Session) droidAnswered(requestID string, refused bool) {
	s.apply(s.proc.answered(time.Now(), requestID, refused))
}
