package show

import (
	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
)

// OwnQuestion is something that this agent asks itself, with one option that says yes.
type OwnQuestion struct {
	Before []Output // what is shown before the user is asked

	view   *View
	id     string
	yesID  string
	asked  bool
	choice choice
	call   protocol.ToolCall
	chosen string // the id of the option
}

var _ Dialog = (*OwnQuestion)(nil)

// ownQuestion makes a question in an entry of its own, whose id begins with a word. Where the client is not
// known to show what a request is about, it is told before.
func (v *View) ownQuestion(word, title, text string, options []protocol.PermissionOption, yes string) *OwnQuestion {
	q := &OwnQuestion{view: v, id: word + "-" + v.newID(), yesID: yes, choice: newChoice(options, true)}
	q.call = protocol.ToolCall{ToolCallID: q.id, Title: protocol.Line(title), Kind: acp.ToolKindOther, Status: protocol.StatusPending,
		Content: []protocol.ToolContent{protocol.TextContent(text)}}
	announced := q.call
	announced.SessionUpdate = "tool_call"
	if !v.client.RequestContent {
		v.tell(title + "\n\n" + text)
		announced.Content = nil
	}
	v.send(announced)
	q.Before = v.take()
	return q
}

// Next implements Dialog.
func (q *OwnQuestion) Next() (Step, bool) {
	if q.asked {
		return Step{}, false
	}
	q.asked = true
	return Step{Choice: &protocol.PermissionParams{ToolCall: titled(q.call, q.view.client.ClientTraits), Options: q.choice.shown}}, true
}

// Chose implements Dialog.
func (q *OwnQuestion) Chose(optionID string) (offered bool) {
	q.chosen = q.choice.picked(optionID)
	return q.chosen != ""
}

// Filled implements Dialog.
func (q *OwnQuestion) Filled(*protocol.ElicitationResult) {}

// Yes reports whether the user said yes.
func (q *OwnQuestion) Yes() bool { return q.chosen == q.yesID }

// Cancels reports whether the user cancels the prompt with that.
func (q *OwnQuestion) Cancels() bool { return q.chosen == trustCancel }

// After ends the entry. The View shows it.
func (q *OwnQuestion) After(outcome string) []Output {
	q.view.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: q.id, Kind: q.call.Kind, Status: protocol.StatusCompleted, Title: protocol.Line(outcome)})
	return q.view.take()
}

// asksYesOrNo reports whether the client's user can answer a question with two options, one of a kind. Of one that is
// not known to show either their names or their kinds, what the user typed counts.
func (v *View) asksYesOrNo() bool { return v.client.ShowsNames() || v.client.OptionKinds }

// CompactQuestion asks whether the conversation is to become a summary. It is nil for a client that cannot be asked
// (asksYesOrNo). background says that a command in the
// background ends with it.
func (v *View) CompactQuestion(background bool) *OwnQuestion {
	if !v.asksYesOrNo() {
		return nil
	}
	text := "The model goes on with a summary in place of what was said. The conversation is kept: `/fork before` makes a thread of its own from it."
	if background {
		text += endsBackground
	}
	return v.ownQuestion("compact", "Compact the conversation?", text,
		[]protocol.PermissionOption{
			{OptionID: "compact", Name: "Compact", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionID: "keep", Name: "Leave it as it is", Kind: acp.PermissionOptionKindRejectOnce},
		}, "compact")
}

const endsBackground = "\n\nA command that droid runs in the background ends with that."

// RewindQuestion asks whether to go back, which ends a command in the background. It is nil where CompactQuestion is.
func (v *View) RewindQuestion() *OwnQuestion {
	if !v.asksYesOrNo() {
		return nil
	}
	return v.ownQuestion("rewind", "Go back to before that prompt?", "droid is started again for it."+endsBackground,
		[]protocol.PermissionOption{
			{OptionID: "rewind", Name: "Go back", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionID: "keep", Name: "Leave it as it is", Kind: acp.PermissionOptionKindRejectOnce},
		}, "rewind")
}
