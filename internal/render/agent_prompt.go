package render

import (
	"fmt"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/visible"
)

// AgentPrompt is a question asked by this agent; one of its options means yes.
type AgentPrompt struct {
	Before []Output // to be sent before asking

	view   *View
	id     string
	yesID  string
	asked  bool
	choice optionChoice
	call   protocol.ToolCall
	chosen string // option ID
}

var _ Dialog = (*AgentPrompt)(nil)

// newAgentPrompt creates a question in its own entry, with an ID prefixed by word. If the client does not show the content of requests, the
// text is sent as a message first.
func (v *View) newAgentPrompt(word, title, text string, options []protocol.PermissionOption, yes string) *AgentPrompt {
	q := &AgentPrompt{view: v, id: word + "-" + v.newID(), yesID: yes, choice: newChoice(options, true)}
	q.call = protocol.ToolCall{ToolCallID: q.id, Title: protocol.Line(title), Kind: acp.ToolKindOther, Status: protocol.StatusPending}
	announced := q.call
	announced.SessionUpdate = "tool_call"
	q.call.Content = []protocol.ToolContent{protocol.TextContent(text)}
	if !v.client.ShowsRequestContent {
		v.notice(title + "\n\n" + text)
	}
	v.send(announced)
	q.Before = v.take()
	return q
}

// Next implements Dialog.
func (q *AgentPrompt) Next() (Step, bool) {
	if q.asked {
		return Step{}, false
	}
	q.asked = true
	return Step{Choice: &protocol.PermissionParams{ToolCall: titled(q.call, q.view.client.ClientProfile), Options: q.choice.shown}}, true
}

// OptionChosen implements Dialog.
func (q *AgentPrompt) OptionChosen(optionID string) (offered bool) {
	q.chosen = q.choice.picked(optionID)
	return q.chosen != ""
}

// FormFilled implements Dialog.
func (q *AgentPrompt) FormFilled(*protocol.ElicitationResult) {}

// Yes reports whether the user said yes.
func (q *AgentPrompt) Yes() bool { return q.chosen == q.yesID }

// Dismissed reports whether the user chose nothing.
func (q *AgentPrompt) Dismissed() bool { return q.chosen == "" }

// Cancels reports whether the user cancelled the prompt.
func (q *AgentPrompt) Cancels() bool { return q.chosen == trustCancel }

// End ends the entry, with outcome as its title.
func (q *AgentPrompt) End(outcome string) []Output {
	q.view.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: q.id, Kind: q.call.Kind, Status: protocol.StatusCompleted, Title: protocol.Line(outcome)})
	return q.view.take()
}

// askYesNo asks with two options, one of each kind; yes is the name of the first. It returns nil if the client shows neither names nor
// kinds; then the typed command counts.
func (v *View) askYesNo(word, title, text, yes string) *AgentPrompt {
	if !v.client.MayShowOptionNames() && !v.client.ShowsOptionKindsOnly {
		return nil
	}
	return v.newAgentPrompt(word, title, text, []protocol.PermissionOption{
		{OptionID: word, Name: protocol.Line(yes), Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: "keep", Name: "No, leave it as it is", Kind: acp.PermissionOptionKindRejectOnce},
	}, word)
}

// CompactQuestion asks whether to compact the conversation. It returns nil if the client cannot be asked (see askYesNo). background means
// that a background command ends as a result.
func (v *View) CompactQuestion(background bool) *AgentPrompt {
	text := "The model goes on with a summary in place of what was said."
	if background {
		text += endsBackground
	}
	return v.askYesNo("compact", "Compact the conversation?", text, "Yes, compact it")
}

const endsBackground = "\n\nA command that droid runs in the background ends with that."

// RewoundFile is a file that a rewind changes.
type RewoundFile struct {
	Path    string
	Deleted bool // deleted, since it did not exist then; otherwise its old text is restored
	Status  EditStatus
	Unsaved bool // the editor has unsaved text
}

// EditStatus says what happened to a file since droid's first edit to be undone.
type EditStatus int

const (
	OnlyEdited  EditStatus = iota // changed only by droid's edits
	FileGone                      // deleted
	FileUnknown                   // nothing to compare with
	FileChanged                   // changed by something else, too
)

var editStatusTexts = [...]string{
	OnlyEdited:  "",
	FileGone:    ", which is not there now",
	FileUnknown: ", of which it is not known whether you or another program changed it, too",
	FileChanged: ", **changed by you or another program, too**",
}

// MayLoseChanges reports whether a rewind may undo more than droid's edits.
func (f RewoundFile) MayLoseChanges() bool { return f.Status >= FileUnknown || f.Unsaved }

// status returns what follows the file's name in the question.
func (f RewoundFile) status() string {
	if f.Unsaved {
		return editStatusTexts[f.Status] + ", **with unsaved changes in your editor**"
	}
	return editStatusTexts[f.Status]
}

// maxRewoundFiles bounds the number of files listed of which only droid's edits are lost. All others are listed.
const maxRewoundFiles = 50

// RewindQuestion asks whether to rewind. files are the files that change; background means that a background command ends as a result. It
// returns nil if the client cannot be asked (see askYesNo).
func (v *View) RewindQuestion(files []RewoundFile, background bool) *AgentPrompt {
	var parts []string
	for _, kind := range []struct {
		deleted bool
		what    string
	}{{false, "These files get the text that they had then:"}, {true, "These files are deleted, as droid created them since:"}} {
		var lost, others []string
		for _, f := range files {
			line := "- " + v.fileCode(f.Path) + f.status()
			switch {
			case f.Deleted != kind.deleted:
			case f.MayLoseChanges():
				lost = append(lost, line)
			default:
				others = append(others, line)
			}
		}
		if n := len(others); n > maxRewoundFiles {
			others = append(others[:maxRewoundFiles], fmt.Sprintf("- and %d more", n-maxRewoundFiles))
		}
		if lines := append(lost, others...); len(lines) > 0 {
			parts = append(parts, kind.what+"\n\n"+strings.Join(lines, "\n"))
		}
	}
	if background {
		parts = append(parts, "droid is started again for it."+endsBackground)
	}
	return v.askYesNo("rewind", "Go back to before that prompt?", strings.Join(parts, "\n\n"), "Yes, go back")
}

// FileList lists files in a sentence.
func (v *View) FileList(files []string) string {
	var names []string
	for _, path := range files {
		names = append(names, v.fileCode(path))
	}
	return strings.Join(names, ", ")
}

func (v *View) fileCode(path string) string {
	return markdown.Code(visible.Line(paths.Relative(v.cwd, path)))
}

// Options of AskTrust. The first of a kind never means yes.
const (
	trustGoOn   = "not-now-go-on"
	trustYes    = "trust"
	trustLook   = "not-now-look"
	trustNo     = "not-now"
	trustCancel = "cancel-prompt"

	trustName = "Yes, trust this project"
)

// trustOptions returns two choices and a cancellation for clients that show names. For others, yes is between two options of its kind, as
// some clients choose the first or the last.
func trustOptions(names bool) []protocol.PermissionOption {
	yes := protocol.PermissionOption{OptionID: trustYes, Name: trustName, Kind: acp.PermissionOptionKindAllowOnce}
	if names {
		return []protocol.PermissionOption{
			{OptionID: trustGoOn, Name: "No, go on without it", Kind: acp.PermissionOptionKindAllowOnce},
			yes,
			{OptionID: trustCancel, Name: "No, cancel this prompt", Kind: acp.PermissionOptionKindRejectOnce}, // some clients cancel by themselves
		}
	}
	return []protocol.PermissionOption{
		{OptionID: trustGoOn, Name: "No, go on", Kind: acp.PermissionOptionKindAllowOnce},
		yes,
		{OptionID: trustLook, Name: "No, I look first", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: trustNo, Name: "No", Kind: acp.PermissionOptionKindRejectOnce}, // some clients stop the prompt on rejection
	}
}

// CanAskTrust reports whether the user can be asked to trust a project: not if the client shows no option names, as nobody could say yes.
func (v *View) CanAskTrust() bool { return !v.client.ShowsOptionKindsOnly && !v.client.AnswersByPolicy }

// AskTrust asks whether a project may run what it brings; list names that and comes last. Only a user who reads the option names can say yes:
// a client that answers by kind or position chooses an option that changes nothing. It must not be called if CanAskTrust returns false.
func (v *View) AskTrust(title, list string) *AgentPrompt {
	advice := ""
	if !v.client.ShowsOptionNames {
		advice = "Only *" + trustName + "* counts. Where you see only words such as Yes or Accept, type `/trust yes` instead.\n\n"
	}
	q := v.newAgentPrompt("trust", title, advice+list, trustOptions(v.client.ShowsOptionNames), trustYes)
	q.call.Meta = &protocol.ToolMeta{Own: &protocol.AgentToolMeta{NamesOnly: true}}
	return q
}

// NotTrustedText returns the message for an answer other than yes, "" if the user has read what they chose.
func (v *View) NotTrustedText() string {
	if v.client.ShowsOptionNames {
		return ""
	}
	return "The project was not trusted: only *" + trustName + "* counts, and some clients send only a yes or a no."
}
