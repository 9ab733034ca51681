package render

import (
	"fmt"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/visible"
)

// retryState tracks the retries of one model call.
type retryState struct {
	reason     string
	brokeOff   bool      // the user was notified that an answer broke off and starts again
	reported   int       // the last attempt that was shown
	reportedAt time.Time // when; zero if none was
	last       int
}

// retriesEach is how long after a failure the failure of another call is shown again.
const retriesEach = 30 * time.Second

// retryReasons are droid's reasons in words (0.99 to 0.225).
var retryReasons = map[string]string{"rate_limited": "too many requests", "overloaded": "the server is overloaded", "timeout": "no answer in time", "empty_response": "an empty answer"}

// retrying shows that droid retries a model call: a message for the first attempt and whenever the reason changes. A client that supports
// notices gets those instead.
func (v *View) retrying(now time.Time, ev quirks.Retrying) {
	r := &v.retries
	reason, text, title := ProviderMessage(ev.Reason), "", ""
	if words := retryReasons[reason]; words != "" {
		reason = words
	}
	if ev.Attempt <= r.last { // this is another call
		v.retried()
		if reason != r.reason || now.Sub(r.reportedAt) >= retriesEach {
			r.reportedAt = time.Time{}
		}
	}
	switch {
	case r.reportedAt.IsZero() && r.brokeOff:
		r.reported, r.reportedAt = ev.Attempt, now
	case r.reportedAt.IsZero():
		text = fmt.Sprintf("The model call failed (%s). Trying again…", reason)
		title = "The model call failed. Trying again…"
	case reason != r.reason:
		text = fmt.Sprintf("It failed again (%s). Trying on…", reason)
		title = "The model call failed again. Trying on…"
	}
	r.reason, r.last = reason, ev.Attempt
	if text == "" {
		return
	}
	r.reported, r.reportedAt = ev.Attempt, now
	switch {
	case !v.client.Notices:
		v.notice(text)
	case title != "":
		v.send(protocol.NoticeUpdate{SessionUpdate: "notice", Severity: "warning", Title: protocol.Line(title), Description: protocol.Text(reason)})
	}
}

// retried shows how many attempts were made, when the turn ends or another call is retried: an answer that has begun may break off, too.
func (v *View) retried() {
	if r := v.retries; r.last > r.reported && !v.client.Notices {
		v.notice(fmt.Sprintf("droid tried the model call again %d times.", r.last))
	}
	v.retries.reported, v.retries.last = 1, 0 // do not show again that the next call fails in the same way
}

// Reasons for a compaction, shown to the user.
const (
	windowFull          = "The context window is full: droid compacts the conversation."
	CompactionRequested = "droid compacts the conversation."
)

// CompactionEnd is the outcome of a compaction: a status of ACP's compaction_update.
type CompactionEnd string

// Outcomes of a compaction.
const (
	Compacted           CompactionEnd = "completed"
	CompactionFailed    CompactionEnd = "failed"
	CompactionCancelled CompactionEnd = "cancelled"
)

// compactionEnds are the outcomes in words, for clients without compaction_update.
var compactionEnds = map[CompactionEnd]string{
	Compacted:           "Done.",
	CompactionFailed:    "It failed.",
	CompactionCancelled: "It was cancelled.",
}

// SummaryNote states how many messages a summary replaces.
func SummaryNote(messages int) string {
	if messages == 1 {
		return "1 message became a summary."
	}
	return fmt.Sprintf("%d messages became a summary.", messages)
}

// Compacting reports whether a compaction is running.
func (v *View) Compacting() bool { return v.compaction != "" }

// BeginCompaction shows that a compaction has started, and why, unless one is already shown.
func (v *View) BeginCompaction(why string) []Output {
	v.beginCompaction(why)
	return v.take()
}

// EndCompaction shows the end of a compaction, if one is shown.
func (v *View) EndCompaction(end CompactionEnd) []Output {
	return v.EndCompactionWith(end, CompactionFacts{})
}

// WantsSummary reports whether the client is sent the summary of a compaction.
func (v *View) WantsSummary() bool { return v.client.Compaction }

// CompactionFacts are details of a finished compaction, for clients with compaction_update. Others are notified by whoever started it.
type CompactionFacts struct {
	Summary string // "" if unknown
	Error   string // reason of a failure; "" if none or unknown
}

// EndCompactionWith is EndCompaction with details.
func (v *View) EndCompactionWith(end CompactionEnd, facts CompactionFacts) []Output {
	v.endCompaction(end, compactionEnds[end], facts)
	return v.take()
}

// NothingToCompact ends a compaction of an empty conversation.
func (v *View) NothingToCompact() []Output {
	const nothing = "There is nothing to compact yet."
	v.endCompaction(CompactionFailed, nothing, CompactionFacts{Error: nothing})
	return v.take()
}

func (v *View) beginCompaction(why string) {
	if v.compaction != "" {
		return
	}
	v.compaction = v.newID()
	if v.client.Compaction {
		v.send(protocol.CompactionUpdate{SessionUpdate: "compaction_update", CompactionID: v.compaction, Status: "in_progress"})
		return
	}
	v.agentMessage(v.compaction, "", why, true)
}

func (v *View) endCompaction(end CompactionEnd, text string, facts CompactionFacts) {
	id := v.compaction
	if id == "" {
		return
	}
	v.compaction = ""
	if v.client.Compaction {
		update := protocol.CompactionUpdate{SessionUpdate: "compaction_update", CompactionID: id, Status: string(end), Error: protocol.Text(facts.Error)}
		if text := visible.Text(facts.Summary); text != "" {
			update.Summary = []protocol.Content{{Type: "text", Text: &text}}
		}
		v.send(update)
		return
	}
	v.agentMessage(id, " ", text, true)
}

// EndTurn ends the progress shown for a turn. open is the outcome of a compaction that is still shown.
func (v *View) EndTurn(open CompactionEnd) []Output {
	if open != CompactionCancelled {
		v.retried()
	}
	v.retries = retryState{}
	v.endCompaction(open, compactionEnds[open], CompactionFacts{})
	return v.take()
}
