package show

import (
	"fmt"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/visible"
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
	q.call = protocol.ToolCall{ToolCallID: q.id, Title: protocol.Line(title), Kind: acp.ToolKindOther, Status: protocol.StatusPending}
	announced := q.call
	announced.SessionUpdate = "tool_call"
	q.call.Content = []protocol.ToolContent{protocol.TextContent(text)}
	if !v.client.RequestContent {
		v.tell(title + "\n\n" + text)
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

// Dismissed reports whether the user picked nothing.
func (q *OwnQuestion) Dismissed() bool { return q.chosen == "" }

// Cancels reports whether the user cancels the prompt with that.
func (q *OwnQuestion) Cancels() bool { return q.chosen == trustCancel }

// After ends the entry. The View shows it.
func (q *OwnQuestion) After(outcome string) []Output {
	q.view.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: q.id, Kind: q.call.Kind, Status: protocol.StatusCompleted, Title: protocol.Line(outcome)})
	return q.view.take()
}

// yesOrNo asks with two options, one of a kind; yes names the first. It is nil for a client that is not known to show
// either their names or their kinds: there, what the user typed counts.
func (v *View) yesOrNo(word, title, text, yes string) *OwnQuestion {
	if !v.client.ShowsNames() && !v.client.OptionKinds {
		return nil
	}
	return v.ownQuestion(word, title, text, []protocol.PermissionOption{
		{OptionID: word, Name: protocol.Line(yes), Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: "keep", Name: "No, leave it as it is", Kind: acp.PermissionOptionKindRejectOnce},
	}, word)
}

// CompactQuestion asks whether the conversation is to become a summary. It is nil for a client that cannot be asked
// (yesOrNo). background says that a command in the background ends with it.
func (v *View) CompactQuestion(background bool) *OwnQuestion {
	text := "The model goes on with a summary in place of what was said."
	if background {
		text += endsBackground
	}
	return v.yesOrNo("compact", "Compact the conversation?", text, "Yes, compact it")
}

const endsBackground = "\n\nA command that droid runs in the background ends with that."

// RewoundFile is a file that going back changes.
type RewoundFile struct {
	Path    string
	Deleted bool // it goes, as it was not there then; else it gets its old text
	Since   Since
	Unsaved bool // the editor has unsaved text of it
}

// Since is what became of a file since droid's first edit of it that is taken back.
type Since int

const (
	OnlyEdited  Since = iota // only droid's edits have changed it
	FileGone                 // it does not exist
	FileUnknown              // there is nothing to compare it with
	FileChanged              // something else has changed it as well
)

var sinceWords = [...]string{
	OnlyEdited:  "",
	FileGone:    ", which is not there now",
	FileUnknown: ", of which it is not known whether you or another program changed it, too",
	FileChanged: ", **changed by you or another program, too**",
}

// Loses reports whether going back may undo more than droid's edits.
func (f RewoundFile) Loses() bool { return f.Since >= FileUnknown || f.Unsaved }

// words follow the file's name in the question.
func (f RewoundFile) words() string {
	if f.Unsaved {
		return sinceWords[f.Since] + ", **with unsaved changes in your editor**"
	}
	return sinceWords[f.Since]
}

// mostRewound bounds how many files a question names of those where nothing is lost but droid's edits. It names all others.
const mostRewound = 50

// RewindQuestion asks whether to go back. files are those which that changes, and background says that a command in the
// background ends with it. It is nil where CompactQuestion is.
func (v *View) RewindQuestion(files []RewoundFile, background bool) *OwnQuestion {
	var parts []string
	for _, kind := range []struct {
		deleted bool
		what    string
	}{{false, "These files get the text that they had then:"}, {true, "These files are deleted, as droid created them since:"}} {
		var lost, others []string
		for _, f := range files {
			line := "- " + v.fileCode(f.Path) + f.words()
			switch {
			case f.Deleted != kind.deleted:
			case f.Loses():
				lost = append(lost, line)
			default:
				others = append(others, line)
			}
		}
		if n := len(others); n > mostRewound {
			others = append(others[:mostRewound], fmt.Sprintf("- and %d more", n-mostRewound))
		}
		if lines := append(lost, others...); len(lines) > 0 {
			parts = append(parts, kind.what+"\n\n"+strings.Join(lines, "\n"))
		}
	}
	if background {
		parts = append(parts, "droid is started again for it."+endsBackground)
	}
	return v.yesOrNo("rewind", "Go back to before that prompt?", strings.Join(parts, "\n\n"), "Yes, go back")
}

// FileList names files in a sentence.
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

// The options. The first of their kind is never the one that says yes.
const (
	trustGoOn   = "not-now-go-on"
	trustYes    = "trust"
	trustLook   = "not-now-look"
	trustNo     = "not-now"
	trustCancel = "cancel-prompt"

	trustName = "Yes, trust this project"
)

// trustOptions are two choices and the cancel where their names are known to be read. Elsewhere the one that says yes
// stands between two others of its kind, as some clients pick the first or the last.
func trustOptions(names bool) []protocol.PermissionOption {
	yes := protocol.PermissionOption{OptionID: trustYes, Name: trustName, Kind: acp.PermissionOptionKindAllowOnce}
	if names {
		return []protocol.PermissionOption{
			{OptionID: trustGoOn, Name: "No, go on without it", Kind: acp.PermissionOptionKindAllowOnce},
			yes,
			{OptionID: trustCancel, Name: "No, cancel this prompt", Kind: acp.PermissionOptionKindRejectOnce}, // some clients do that by themselves
		}
	}
	return []protocol.PermissionOption{
		{OptionID: trustGoOn, Name: "No, go on", Kind: acp.PermissionOptionKindAllowOnce},
		yes,
		{OptionID: trustLook, Name: "No, I look first", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: trustNo, Name: "No", Kind: acp.PermissionOptionKindRejectOnce}, // some clients stop the prompt with it
	}
}

// AsksTrust reports whether the user can be asked whether to trust a project: not where the client is known to show no
// names of options, as then nobody can say yes.
func (v *View) AsksTrust() bool { return !v.client.OptionKinds && !v.client.ByPolicy }

// Trust asks whether a project may run what it brings; list, which names it, stands last. Only a person who reads
// the names of the options can say yes: who answers by an option's kind or place picks one that changes nothing.
// It is not to be called where AsksTrust says no.
func (v *View) Trust(title, list string) *OwnQuestion {
	advice := ""
	if !v.client.OptionNames {
		advice = "Only *" + trustName + "* counts. Where you see only words such as Yes or Accept, type `/trust yes` instead.\n\n"
	}
	q := v.ownQuestion("trust", title, advice+list, trustOptions(v.client.OptionNames), trustYes)
	q.call.Meta = &protocol.ToolMeta{Own: &protocol.OwnMeta{NamesOnly: true}}
	return q
}

// NotTrusted is what is said of an answer that was no yes, "" where the user has read what they chose.
func (v *View) NotTrusted() string {
	if v.client.OptionNames {
		return ""
	}
	return "The project was not trusted: only *" + trustName + "* counts, and some clients send only a yes or a no."
}
