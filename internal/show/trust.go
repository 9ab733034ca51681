package show

import (
	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/protocol"
)

// TrustQuestion asks whether a project may run what it brings. Only a person who reads
// the names of the options can say yes: who answers by an option's kind or place (the
// first, the last, the first or the last of a kind) picks one that changes nothing.
type TrustQuestion struct {
	Before []Output // what is shown before the user is asked

	view   *View
	id     string
	asked  bool
	choice choice
	call   protocol.ToolCall
	yes    bool
}

// The options. The one that says yes stands between two others of its kind.
const (
	trustGoOn = "not-now-go-on"
	trustYes  = "trust"
	trustLook = "not-now-look"
	trustNo   = "not-now"
)

func trustOptions() []protocol.PermissionOption {
	return []protocol.PermissionOption{
		{OptionID: trustGoOn, Name: "Not now, go on", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: trustYes, Name: "Trust this project", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: trustLook, Name: "Not now, I look first", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: trustNo, Name: "Not now", Kind: acp.PermissionOptionKindRejectOnce}, // some clients stop the prompt with it
	}
}

// Trust makes the question. list names what would run. Where the client is not known to
// show what a request is about, it is told before.
func (v *View) Trust(title, list string) *TrustQuestion {
	q := &TrustQuestion{view: v, id: "trust-" + v.newID()}
	q.choice = newChoice(trustOptions(), true)
	q.call = protocol.ToolCall{ToolCallID: q.id, Title: protocol.Line(title), Kind: acp.ToolKindOther, Status: protocol.StatusPending,
		Content: []protocol.ToolContent{protocol.TextContent(list)}}
	announced := q.call
	announced.SessionUpdate = "tool_call"
	if !v.client.RequestContent {
		v.tell(title + "\n\n" + list)
		announced.Content = nil
	}
	v.send(announced)
	q.Before = v.take()
	return q
}

// Next implements Dialog.
func (q *TrustQuestion) Next() (Step, bool) {
	if q.asked {
		return Step{}, false
	}
	q.asked = true
	return Step{Choice: &protocol.PermissionParams{ToolCall: q.call, Options: q.choice.shown}}, true
}

// Chose implements Dialog.
func (q *TrustQuestion) Chose(optionID string) (offered bool) {
	picked := q.choice.picked(optionID)
	q.yes = picked == trustYes
	return picked != ""
}

// Filled implements Dialog.
func (q *TrustQuestion) Filled(*protocol.ElicitationResult) {}

// Yes reports whether the user trusts the project.
func (q *TrustQuestion) Yes() bool { return q.yes }

// After ends the entry. The View shows it.
func (q *TrustQuestion) After(outcome string) []Output {
	q.view.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: q.id, Status: protocol.StatusCompleted, Title: protocol.Line(outcome)})
	return q.view.take()
}
