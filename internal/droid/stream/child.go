package stream

import (
	"encoding/json"
	"time"
)

// What lines of a subagent's session file say, by ChildLine.Type.
const (
	ChildBegins  = "session_start"      // the first line
	ChildMessage = "message"            // one message, written whole when it is
	ChildOutcome = "agent_turn_outcome" // the subagent's turn has ended
)

// ChildLine is a line of a subagent's session file (0.215, 0.225), which is all that droid tells of what the subagent
// does.
type ChildLine struct {
	Type    string        `json:"type"`
	ID      string        `json:"id"`               // of the session, or of the message
	Caller  string        `json:"callingSessionId"` // of ChildBegins: whose subagent it is
	Time    LenientString `json:"timestamp"`        // in RFC 3339
	Message Message       `json:"message"`
	Reason  LenientString `json:"reason"` // of ChildOutcome, as TurnCompleted has it
}

// Before reports whether the line was written before a time; false where it does not say.
func (l ChildLine) Before(t time.Time) bool {
	at, err := time.Parse(time.RFC3339, string(l.Time))
	return err == nil && at.Before(t)
}

// DecodeChildLine decodes a line; false for one that is damaged or half written.
func DecodeChildLine(line []byte) (l ChildLine, ok bool) {
	ok = json.Unmarshal(line, &l) == nil
	return l, ok
}
