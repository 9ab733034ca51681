package adapter

import (
	"fmt"

	"github.com/google/uuid"

	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
)

// retries are the repeated calls of one model call.
type retries struct {
	message string // the thought that tells of them; "" when there are none
	reason  string
	told    int // the attempt that was told last
	last    int
}

// retrying shows that droid repeats a model call: one message for all attempts,
// which grows when the reason is another or there are twice as many.
func (s *Session) retrying(ev quirks.Retrying) {
	r := &s.retries
	if r.message != "" && ev.Attempt <= r.last {
		s.retried() // those were of another call
	}
	text := ""
	switch {
	case r.message == "":
		r.message = uuid.NewString()
		text = fmt.Sprintf("The model call failed (%s); droid tries again (attempt %d)", ev.Reason, ev.Attempt)
		s.notify("warning", text)
	case ev.Reason != r.reason:
		text = fmt.Sprintf(" Now it failed otherwise (%s); attempt %d", ev.Reason, ev.Attempt)
	case ev.Attempt >= 2*r.told:
		text = fmt.Sprintf(" Attempt %d", ev.Attempt)
	}
	r.reason, r.last = ev.Reason, ev.Attempt
	if text != "" {
		r.told = ev.Attempt
		s.sendText(r.message, text+".", true)
	}
}

// retried ends the message of retrying with how many attempts there were.
func (s *Session) retried() {
	if r := s.retries; r.last > r.told {
		s.sendText(r.message, fmt.Sprintf(" %d attempts in all.", r.last), true)
	}
	s.retries = retries{}
}

// notify sends a notice to a client that shows them.
func (s *Session) notify(severity, title string) {
	if s.agent.client.Notices {
		s.send(protocol.NoticeUpdate{SessionUpdate: "notice", Severity: severity, Title: title})
	}
}

// compacting shows that droid replaces the conversation by a summary, and why.
func (s *Session) compacting(why string) {
	if s.compaction != "" {
		return
	}
	s.compaction = uuid.NewString()
	if s.agent.client.Compaction {
		s.send(protocol.CompactionUpdate{SessionUpdate: "compaction_update", CompactionID: s.compaction, Status: "in_progress"})
		return
	}
	s.sendText(s.compaction, why, true)
}

// Why droid compacts the conversation.
const (
	windowFull = "The context window is full: droid compacts the conversation."
	userAsked  = "droid compacts the conversation."
)

// compacted ends what compacting began.
func (s *Session) compacted(status, text string) {
	id := s.compaction
	if id == "" {
		return
	}
	s.compaction = ""
	if s.agent.client.Compaction {
		s.send(protocol.CompactionUpdate{SessionUpdate: "compaction_update", CompactionID: id, Status: status})
		return
	}
	s.sendText(id, " "+text, true)
}

// progressEnded ends what a turn showed of its progress.
func (s *Session) progressEnded(cancelled bool) {
	if cancelled {
		s.retries = retries{}
		s.compacted("cancelled", "It was cancelled.")
	}
	s.retried()
	s.compacted("completed", "Done.")
}
