// What a session loads: Load keeps the load of a session whose turn has come, and what is still to be
// shown of the history that droid told for it. Prompts and other loads wait for it, so that
// the history comes in one piece.

package waiting

import (
	"fmt"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// Load is the load that runs, if there is one. R is what stands for the request. It is not
// safe for concurrent use; the zero value has none.
type Load[R comparable] struct {
	request  R              // the zero value for none; until its response is written
	answered bool           // its response is being written
	shows    bool           // its history is being shown
	told     bool           // all that it shows is shown
	history  []quirks.Event // still to be shown
	title    string
	lacks    []string
}

// Begin takes a load whose turn has come.
func (l *Load[R]) Begin(request R) { *l = Load[R]{request: request} }

// Has reports whether a request is the load, and has no answer.
func (l *Load[R]) Has(request R) bool { return l.request == request && !l.answered }

// Open is the load that has no answer, the zero value for none.
func (l *Load[R]) Open() (request R) {
	if !l.answered {
		request = l.request
	}
	return request
}

// Answer ends the load, and the showing of its history. It reports false when the request
// is not the load, or has its answer.
func (l *Load[R]) Answer(request R) bool {
	if !l.Has(request) {
		return false
	}
	*l = Load[R]{request: request, answered: true}
	return true
}

// Over reports whether no load runs, and the response to each is written.
func (l *Load[R]) Over() bool { return l.request == *new(R) }

// Written notes that the response to a load is written.
func (l *Load[R]) Written(request R) {
	if l.request == request {
		*l = Load[R]{}
	}
}

// Show takes up the history that droid returned, and takes it out of info. others is whether another program has the
// session open, in which the calls that have no result at its end may go on.
func (l *Load[R]) Show(info *stream.SessionInfo, others bool) {
	l.shows, l.title, l.history = true, info.Title, quirks.History(info.Messages)
	if info.HasOlderMessages {
		l.lacks = append(l.lacks, "The session has older messages that droid did not return.")
	}
	if info.Unreadable > 0 {
		l.lacks = append(l.lacks, fmt.Sprintf("Not shown are %d of the session's messages: droid told them in a form that droid-acp cannot read.", info.Unreadable))
	}
	if others && quirks.GoOnElsewhere(l.history) {
		l.lacks = append(l.lacks, "What has no result above had not ended as this was loaded: it runs, or waits for an answer in the other window.")
	}
	info.Messages = nil // the events have all that is shown
}

// Shows reports whether a history is being shown.
func (l *Load[R]) Shows() bool { return l.shows }

// Told notes that all that the load shows is shown.
func (l *Load[R]) Told() { l.shows, l.told = false, true }

// Opened reports whether droid has opened the session for the load.
func (l *Load[R]) Opened() bool { return l.shows || l.told }

// Next takes what is to be shown next, nil when all is shown.
func (l *Load[R]) Next() quirks.Event {
	if len(l.history) == 0 {
		return nil
	}
	ev := l.history[0]
	l.history[0] = nil // it is not kept until all are shown
	l.history = l.history[1:]
	return ev
}

// Title is the title that droid told with the history.
func (l *Load[R]) Title() string { return l.title }

// Lacks says, in words for the user, what droid has of the conversation and the history does
// not show.
func (l *Load[R]) Lacks() []string { return l.lacks }
