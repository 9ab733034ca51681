// Package render converts normalized events to what the client is sent: texts, tool calls with diffs and terminals, plans, progress, session
// history, and the content of permission requests and questions. The main type is View, one per session, used by adapter. It is pure: no
// goroutine, clock, file access or sending. Times, IDs and file texts are passed in, and Outputs are returned in order.
package render

import (
	"strings"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/visible"
)

// Options configure a View.
type Options struct {
	CWD          string                      // the session's directory, absolute
	Capabilities protocol.ClientCapabilities // of the editor
	LinesFromOne bool                        // droid counts the lines of a file from 1 instead of 0
	NewID        func() string               // returns unique message IDs
	LoginHint    string                      // explains how to log in
}

// View is the state of one session as shown to its client. It is not safe for concurrent use. Times passed to its methods must not go
// backwards.
type View struct {
	cwd          string
	client       protocol.ClientCapabilities
	linesFromOne bool
	newID        func() string
	loginHint    string

	out              []Output                      // outputs of the current method
	files            Files                         // texts read for the current event
	directories      []string                      // of the session, while a permission is shown
	past             bool                          // showing history
	calls            map[string]toolView           // open tool calls by ID
	ids              map[string]struct{}           // of all tool calls so far
	backgroundTasks  map[string]*taskView          // calls that have ended while their subagents work, by ID
	shownOptionTexts map[string]struct{}           // texts about lasting options already shown
	survivors        []BackgroundCommand           // commands of a history that may still run
	background       map[string]*commandView       // background commands whose calls have ended, by output file
	unexplained      []FailedEdit                  // whose reason is not known yet
	pendingNotices   []string                      // notices to send after the current message
	midMessage       bool                          // a message of the model may continue
	unannounced      []unannounced                 // not announced yet, in order
	hooks            map[string]stream.HookStarted // running hooks by ID
	prompts          int                           // number so far
	separator        paragraphSeparator
	retries          retryState
	compaction       string // ID of the running compaction, or ""
}

// New returns the View of a session of which nothing has been shown.
func New(o Options) *View {
	return &View{
		cwd:              o.CWD,
		client:           o.Capabilities,
		linesFromOne:     o.LinesFromOne,
		newID:            o.NewID,
		separator:        paragraphSeparator{noUser: o.Capabilities.HidesUserMessages},
		loginHint:        o.LoginHint,
		calls:            make(map[string]toolView),
		ids:              make(map[string]struct{}),
		backgroundTasks:  make(map[string]*taskView),
		shownOptionTexts: make(map[string]struct{}),
		hooks:            make(map[string]stream.HookStarted),
	}
}

// SetCWD changes the session's directory.
func (v *View) SetCWD(cwd string) { v.cwd = cwd }

// SetLinesFromOne sets how the droid of this session counts lines, see Options.
func (v *View) SetLinesFromOne(yes bool) { v.linesFromOne = yes }

// Moment is when something is shown.
type Moment struct {
	Now     time.Time
	HasRoom bool // the client has read enough to be sent what could also be sent later
}

// File is the text of a file when it was read.
type File struct {
	Text  *string // nil if there is no such file
	Known bool    // false if it could not be read or must not be shown

	// Real is the path without symbolic links, "" if it could not be resolved. It is set for the paths of a permission request
	// (RequestedPaths) and for the session's directories.
	Real string
}

// Files holds texts of files by absolute path.
type Files map[string]File

// Event shows an event. files are the texts returned by NeededFiles; without them less is shown. Permission requests and questions are
// shown by Permission and Questions; Event only announces their calls.
func (v *View) Event(m Moment, ev quirks.Event, files Files) []Output {
	v.files = files
	defer func() { v.files = nil }()
	v.flushBefore(ev)
	if !v.announceFor(ev) {
		v.show(m, ev)
	}
	return v.take()
}

// History shows an event of a session's history (quirks.History). It uses no files, since they have changed since.
func (v *View) History(m Moment, ev quirks.Event) []Output {
	v.past = true
	defer func() { v.past = false }()
	return v.Event(m, ev, nil)
}

func (v *View) show(m Moment, ev quirks.Event) {
	switch ev := quirks.Unwrap(ev).(type) {
	case quirks.Text:
		v.text(ev.MessageID, ev.Text, ev.Thought)
		v.midMessage = !v.past && !ev.Thought
	case quirks.AnswerContinues:
		v.separator.message.open = false
	case quirks.TextRetracted:
		v.notice("The answer broke off. Ignore its beginning above; it starts again.")
		v.retries.brokeOff = true
	case quirks.TextRestarted:
		if ev.Void > 0 { // repeated thinking needs no message
			v.notice("The answer broke off and came again. Ignore what stands above before “" + shorten(FirstLine(ev.Text), 60) + "”.")
		}
	case quirks.Notice:
		if words := ProviderMessage(ev.Text); strings.HasPrefix(words, "/") && strings.HasSuffix(words, " is running") {
			v.text(v.newID(), visible.Text(words), true) // the effect of the user's own command is visible
		} else {
			v.notice(words)
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
	case quirks.SubagentReported:
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
		v.notice(lostText(ev))
	case stream.WorkingStateChanged:
		if ev.State == stream.StateCompacting {
			v.beginCompaction(windowFull)
		}
	case stream.SessionCompacted:
		v.beginCompaction(windowFull) // if droid did not announce it
		v.endCompaction(Compacted, compactionEnds[Compacted], CompactionFacts{})
	}
}

// Droppable reports whether an event of a cancelled turn may be dropped. What the client has seen begin must still end.
func (v *View) Droppable(ev quirks.Event) bool {
	switch ev := quirks.Unwrap(ev).(type) {
	case quirks.Text, quirks.TextRetracted, quirks.TextRestarted, quirks.Notice, quirks.Retrying,
		quirks.ToolStarted, quirks.ToolInput, quirks.ToolRunning, quirks.ToolProgress, quirks.SubagentSteps, quirks.SubagentReported,
		stream.HookStarted, stream.Lost:
		return true
	case quirks.ToolEnded:
		return v.calls[ev.ID] == nil
	case stream.HookCompleted:
		_, started := v.hooks[ev.HookID]
		return !started
	case quirks.AnswerContinues, quirks.SubagentEnded, quirks.UserText, quirks.UserImage,
		stream.WorkingStateChanged, stream.SessionCompacted: // a compaction changes the conversation
		return false
	}
	return false // it is not shown
}

// Text shows a piece of a message or a thought by this agent.
func (v *View) Text(messageID, text string, thought bool) []Output {
	v.text(messageID, text, thought)
	return v.take()
}

// PromptShown records that the client shows a new prompt.
func (v *View) PromptShown() {
	v.prompts++
	v.separator.promptShown()
}

// BeforeError returns what must precede an error that ends a prompt: an empty line, for clients that append the error to the last text.
func (v *View) BeforeError() []Output {
	if !v.client.AppendsPromptErrors {
		return nil
	}
	if lines := v.separator.endMessage(); lines != "" {
		v.out = append(v.out, Text{MessageID: v.newID(), Text: lines, Notice: true})
	}
	return v.take()
}

// notice shows a Notice. It has no trailing newlines: Toad loses a text that ends so at the beginning of an answer (0.6.18), and the next
// message starts with them (see paragraphSeparator).
func (v *View) notice(text string) { v.agentMessage("", "", text, true) }

// agentMessage shows a piece of a message of this agent, prefixed by lead. Without an ID it is a separate message.
func (v *View) agentMessage(messageID, lead, text string, notice bool) {
	if text = visible.Text(strings.TrimSpace(text)); text == "" {
		return
	}
	if messageID == "" {
		messageID = v.newID()
	}
	text = lead + text
	v.out = append(v.out, Text{MessageID: messageID, Text: v.separator.prefix(messageID, text, false) + text, Notice: notice})
}

func (v *View) text(messageID, text string, thought bool) {
	text = v.separator.prefix(messageID, text, thought) + text
	v.out = append(v.out, Text{MessageID: messageID, Text: text, Thought: thought})
}

func (v *View) send(update Output) {
	switch u := update.(type) {
	case protocol.UserMessageChunk:
		update = v.separator.userChunk(u)
	case protocol.ToolCall:
		if u.SessionUpdate == "tool_call" {
			v.separator.toolCallShown()
		} else if view := v.calls[u.ToolCallID]; v.client.RequiresStatus && u.Status == "" && view != nil {
			u.Status = view.base().status
		}
		update = titled(u, v.client.ClientProfile)
	}
	v.out = append(v.out, update)
}

// take returns the outputs since the last call.
func (v *View) take() []Output {
	out := v.out
	v.out = nil
	return out
}
