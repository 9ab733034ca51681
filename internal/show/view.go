// Package show turns honest events into what the editor is sent: texts, tool calls
// with their diffs and terminals, plans, progress, the history of a session, and what
// permission requests and questions say. It is pure: it starts no goroutine, reads no
// clock and no file, and sends nothing. Times, ids and the texts of files are handed
// in, and what is to be sent comes back as Outputs, in order.
package show

import (
	"strings"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/visible"
)

// Options are what a View begins with.
type Options struct {
	CWD          string                      // the session's directory, absolute
	Capabilities protocol.ClientCapabilities // of the editor
	LinesFromOne bool                        // droid counts the lines of a file from 1, else from 0
	NewID        func() string               // makes ids of messages; none twice
	LogIn        string                      // says how to log in
}

// View is how one session looks in its editor: what has been shown, and what is open
// still. It is not safe for concurrent use. The times passed to its methods must not go
// backwards.
type View struct {
	cwd          string
	client       protocol.ClientCapabilities
	linesFromOne bool
	newID        func() string
	logIn        string

	out         []Output                      // what the method that runs has shown so far
	files       Files                         // read for the event that is being shown
	directories []string                      // of the session, while a permission is shown
	past        bool                          // what is being shown is history
	calls       map[string]toolView           // the open tool calls, by id
	ids         map[string]struct{}           // of all tool calls so far
	background  map[string]*task              // calls that have ended and whose subagents work, by id
	noted       map[string]struct{}           // what was said once of options that last
	outlived    []Left                        // commands of a history that may still run
	left        map[string]*command           // whose commands go on though they have ended, by the file of the output
	unexplained []FailedEdit                  // whose reason is still to be looked for
	unseen      []string                      // what waits for an end of the model's words
	amid        bool                          // the model has said words, and more of them may follow
	unannounced []unannounced                 // calls that are not announced yet, in order
	hooks       map[string]stream.HookStarted // that run, by their id
	prompts     int                           // so far
	border      border
	retries     retries
	compaction  string // the id of the one that runs; "" for none
}

// New returns the View of a session of which nothing has been shown.
func New(o Options) *View {
	return &View{
		cwd:          o.CWD,
		client:       o.Capabilities,
		linesFromOne: o.LinesFromOne,
		newID:        o.NewID,
		border:       border{noUser: o.Capabilities.NoUserMessages},
		logIn:        o.LogIn,
		calls:        make(map[string]toolView),
		ids:          make(map[string]struct{}),
		background:   make(map[string]*task),
		noted:        make(map[string]struct{}),
		hooks:        make(map[string]stream.HookStarted),
	}
}

// SetCWD says that the session's directory is another one.
func (v *View) SetCWD(cwd string) { v.cwd = cwd }

// SetLinesFromOne says how the droid of this session counts lines: from 1, or from 0.
func (v *View) SetLinesFromOne(yes bool) { v.linesFromOne = yes }

// Moment is when something is shown.
type Moment struct {
	Now  time.Time
	Room bool // the editor has read enough to be sent what could as well come later
}

// File is the text of a file when it was read.
type File struct {
	Text  *string // nil when there is no such file
	Known bool    // false when it could not be read, or is not to be shown

	// Real is the path without symbolic links, "" when it could not be resolved. It is set for what a permission request names
	// (RequestedPaths), and for the session's directories.
	Real string
}

// Files are the texts of files, by absolute path.
type Files map[string]File

// Event shows one honest event. files are the texts of what Needs names for it; without
// them less is shown. Permissions and questions are not shown here, see Permission and
// Questions: of those only the calls that they are about.
func (v *View) Event(m Moment, ev quirks.Event, files Files) []Output {
	v.files = files
	defer func() { v.files = nil }()
	v.tellUnseen(ev)
	if !v.announceFor(ev) {
		v.show(m, ev)
	}
	return v.take()
}

// History shows one event of a session's past (quirks.History). What its edits changed
// has changed since, so no files belong to it.
func (v *View) History(m Moment, ev quirks.Event) []Output {
	v.past = true
	defer func() { v.past = false }()
	return v.Event(m, ev, nil)
}

func (v *View) show(m Moment, ev quirks.Event) {
	switch ev := quirks.Unwrap(ev).(type) {
	case quirks.Text:
		v.text(ev.MessageID, ev.Text, ev.Thought)
		v.amid = !v.past && !ev.Thought
	case quirks.AnswerContinues:
		v.border.message.open = false
	case quirks.TextRetracted:
		v.tell("The answer broke off. Ignore its beginning above; it starts again.")
		v.retries.broke = true
	case quirks.TextRestarted:
		if ev.Void > 0 { // of thinking that came twice nothing need be said
			v.tell("The answer broke off and came again. Ignore what stands above before “" + shorten(FirstLine(ev.Text), 60) + "”.")
		}
	case quirks.Notice:
		if words := ProviderWords(ev.Text); strings.HasPrefix(words, "/") && strings.HasSuffix(words, " is running") {
			v.text(v.newID(), visible.Text(words), true) // what a command of the user's own does is seen
		} else {
			v.tell(words)
		}
	case quirks.Retrying:
		v.retrying(m.Now, ev)
	case quirks.ToolStarted:
		v.toolStarted(m, ev)
	case quirks.ToolInput:
		v.toolInput(ev)
	case quirks.ToolRunning:
		v.toolRunning(ev.ID)
	case quirks.ToolProgress:
		v.call(ev.ID).progress(m, ev.Update)
	case quirks.ToolEnded:
		v.toolEnded(ev)
	case quirks.SubagentSteps:
		v.subagentSteps(ev)
	case quirks.SubagentEnded:
		v.subagentEnded(ev)
	case quirks.SubagentReports:
		v.subagentReports(ev)
	case quirks.UserText:
		v.send(userText(ev, v.cwd))
	case quirks.UserImage:
		v.send(userImage(ev))
	case stream.HookStarted:
		v.hooks[ev.HookID] = ev
	case stream.HookCompleted:
		v.hookCompleted(ev)
	case stream.Lost:
		v.tell(lostText(ev))
	case stream.WorkingStateChanged:
		if ev.State == stream.StateCompacting {
			v.beginCompaction(WindowFull)
		}
	case stream.SessionCompacted:
		v.beginCompaction(WindowFull) // where droid did not say before that it does
		v.endCompaction(Compacted, compactionEnds[Compacted], CompactionFacts{})
	}
}

// Droppable reports whether the editor can do without an event of a turn that was
// cancelled. What it knows as begun must still end.
func (v *View) Droppable(ev quirks.Event) bool {
	switch ev := ev.(type) {
	case quirks.Text, quirks.TextRetracted, quirks.TextRestarted, quirks.Notice, quirks.Retrying,
		quirks.ToolStarted, quirks.ToolInput, quirks.ToolRunning, quirks.ToolProgress, quirks.SubagentSteps, quirks.SubagentReports:
		return true
	case quirks.ToolEnded:
		return v.calls[ev.ID] == nil
	}
	return false
}

// Text is a piece of a message, or of a thought, that this agent says itself.
func (v *View) Text(messageID, text string, thought bool) []Output {
	v.text(messageID, text, thought)
	return v.take()
}

// Prompted notes that the user sees a prompt of theirs below all that was shown.
func (v *View) Prompted() {
	v.prompts++
	v.border.prompted()
}

// BeforeError is told before an error ends a prompt: an empty line for a client that puts the error behind
// what was said last.
func (v *View) BeforeError() []Output {
	if !v.client.ErrorBehind {
		return nil
	}
	if lines := v.border.ended(); lines != "" {
		v.out = append(v.out, Text{MessageID: v.newID(), Text: lines, Notice: true})
	}
	return v.take()
}

// tell tells the user a Notice. No newlines stand at its end: Toad loses what ends so where it is the
// first of an answer (0.6.18), and the next message begins with them (see border).
func (v *View) tell(text string) { v.own("", "", text, true) }

// own is a piece of a message of this agent's own, with lead before it; without an id it is a message
// of its own.
func (v *View) own(messageID, lead, text string, notice bool) {
	if text = visible.Text(strings.TrimSpace(text)); text == "" {
		return
	}
	if messageID == "" {
		messageID = v.newID()
	}
	text = lead + text
	v.out = append(v.out, Text{MessageID: messageID, Text: v.border.before(messageID, text, false) + text, Notice: notice})
}

func (v *View) text(messageID, text string, thought bool) {
	text = v.border.before(messageID, text, thought) + text
	v.out = append(v.out, Text{MessageID: messageID, Text: text, Thought: thought})
}

func (v *View) send(update Output) {
	switch u := update.(type) {
	case protocol.UserMessageChunk:
		update = v.border.said(u)
	case protocol.ToolCall:
		if u.SessionUpdate == "tool_call" {
			v.border.called()
		} else if view := v.calls[u.ToolCallID]; v.client.StatusEach && u.Status == "" && view != nil {
			u.Status = view.base().status
		}
		update = titled(u, v.client.ClientTraits)
	}
	v.out = append(v.out, update)
}

// take hands out what was shown since the last call.
func (v *View) take() []Output {
	out := v.out
	v.out = nil
	return out
}
