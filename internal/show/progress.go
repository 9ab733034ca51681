package show

import (
	"fmt"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/visible"
)

// retries are the repeated calls of one model call.
type retries struct {
	reason string
	broke  bool      // the user was told that an answer broke off, and comes again
	told   int       // the attempt that was told last
	toldAt time.Time // when; zero when there are none
	last   int
}

// retriesEach is how long after one call failed the failure of another is shown again.
const retriesEach = 30 * time.Second

// retryReasons are droid's reasons in words (0.99 to 0.225).
var retryReasons = map[string]string{"rate_limited": "too many requests", "overloaded": "the server is overloaded", "timeout": "no answer in time", "empty_response": "an empty answer"}

// retrying shows that droid repeats a model call: a message for the first attempt, and
// when the reason is another. A client that shows ACP's notices gets one
// for each reason instead, and no message.
func (v *View) retrying(now time.Time, ev quirks.Retrying) {
	r := &v.retries
	reason, text, title := ProviderWords(ev.Reason), "", ""
	if words := retryReasons[reason]; words != "" {
		reason = words
	}
	if ev.Attempt <= r.last { // those were of another call
		v.retried()
		if reason != r.reason || now.Sub(r.toldAt) >= retriesEach {
			r.toldAt = time.Time{}
		}
	}
	switch {
	case r.toldAt.IsZero() && r.broke:
		r.told, r.toldAt = ev.Attempt, now
	case r.toldAt.IsZero():
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
	r.told, r.toldAt = ev.Attempt, now
	switch {
	case !v.client.Notices:
		v.tell(text)
	case title != "":
		v.send(protocol.NoticeUpdate{SessionUpdate: "notice", Severity: "warning", Title: protocol.Line(title), Description: protocol.Text(reason)})
	}
}

// retried tells how many attempts there were, when the turn ends or another call is repeated: an
// answer that has begun may break off, too.
func (v *View) retried() {
	if r := v.retries; r.last > r.told && !v.client.Notices {
		v.tell(fmt.Sprintf("droid tried the model call again %d times.", r.last))
	}
	v.retries.told, v.retries.last = 1, 0 // that the next call fails in the same way is told already
}

// Why droid compacts the conversation.
const (
	WindowFull = "The context window is full: droid compacts the conversation."
	UserAsked  = "droid compacts the conversation."
)

// CompactionEnd is how a compaction ends: a status of ACP's compaction_update.
type CompactionEnd string

// How a compaction ends.
const (
	Compacted           CompactionEnd = "completed"
	CompactionFailed    CompactionEnd = "failed"
	CompactionCancelled CompactionEnd = "cancelled"
)

// compactionEnds are the ends in words, for clients that do not have the update.
var compactionEnds = map[CompactionEnd]string{
	Compacted:           "Done.",
	CompactionFailed:    "It failed.",
	CompactionCancelled: "It was cancelled.",
}

// Became says how many messages a summary stands for.
func Became(messages int) string {
	if messages == 1 {
		return "1 message became a summary."
	}
	return fmt.Sprintf("%d messages became a summary.", messages)
}

// Compacting reports whether droid replaces the conversation by a summary now.
func (v *View) Compacting() bool { return v.compaction != "" }

// BeginCompaction shows that droid replaces the conversation by a summary, and why. It
// shows nothing while that is shown already.
func (v *View) BeginCompaction(why string) []Output {
	v.beginCompaction(why)
	return v.take()
}

// EndCompaction ends what BeginCompaction began, if anything.
func (v *View) EndCompaction(end CompactionEnd) []Output {
	return v.EndCompactionWith(end, CompactionFacts{})
}

// TakesSummary reports whether the editor is shown what a conversation became.
func (v *View) TakesSummary() bool { return v.client.Compaction }

// CompactionFacts are what is known of a compaction that has ended, for clients that
// have the update. All others are told by whoever asked for it.
type CompactionFacts struct {
	Summary string // what the conversation became; "" where that is not known
	Error   string // why it failed; "" where it did not, or where that is not known
}

// EndCompactionWith is EndCompaction where more is known than how it ended.
func (v *View) EndCompactionWith(end CompactionEnd, facts CompactionFacts) []Output {
	v.endCompaction(end, compactionEnds[end], facts)
	return v.take()
}

// NothingToCompact ends it where the conversation was empty.
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
	v.own(v.compaction, "", why, true)
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
	v.own(id, " ", text, true)
}

// EndTurn ends what a turn showed of its progress. open is how a compaction ends that is open then.
func (v *View) EndTurn(open CompactionEnd) []Output {
	if open != CompactionCancelled {
		v.retried()
	}
	v.retries = retries{}
	v.endCompaction(open, compactionEnds[open], CompactionFacts{})
	return v.take()
}
