package stream

import (
	"encoding/json"
	"time"
)

// Values of ChildLine.Type.
const (
	ChildBegins  = "session_start"      // the first line
	ChildMessage = "message"            // one message, written when it is complete
	ChildOutcome = "agent_turn_outcome" // the subagent's turn has ended
)

// ChildLine is a line of a subagent's session file (0.215, 0.225), droid's only report of what the subagent does.
type ChildLine struct {
	Type    string        `json:"type"`
	ID      string        `json:"id"`               // of the session or the message
	Caller  string        `json:"callingSessionId"` // of ChildBegins: the session that started the subagent
	Time    LenientString `json:"timestamp"`        // in RFC 3339
	Message Message       `json:"message"`
	Reason  LenientString `json:"reason"` // of ChildOutcome, as in TurnCompleted
}

// Before reports whether the line was written before a time; false if it has no time.
func (l ChildLine) Before(t time.Time) bool {
	at, err := time.Parse(time.RFC3339, string(l.Time))
	return err == nil && at.Before(t)
}

// DecodeChildLine decodes a line; ok is false for one that is damaged or incomplete.
func DecodeChildLine(line []byte) (l ChildLine, ok bool) {
	ok = json.Unmarshal(line, &l) == nil
	return l, ok
}
