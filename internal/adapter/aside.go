package adapter

import (
	"cmp"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"droid-acp/internal/droid"
)

// aside takes the events that are no part of a turn's text and tools.
func (s *Session) aside(ev droid.Event) {
	switch ev := ev.(type) {
	case droid.MCPStatusChanged:
		s.mcpStatus(ev)
	case droid.MCPAuthRequired:
		s.loginBegan(ev)
	case droid.MCPAuthCompleted:
		s.loginEnded(ev)
	case droid.HookStarted:
		s.views.hookStarted(ev)
	case droid.HookCompleted:
		s.hookCompleted(ev)
	case droid.SessionSwitched:
		s.followTo(ev.To)
	case droid.Lost:
		s.tell(lostText(ev))
	case droid.WorkingStateChanged:
		if ev.State == droid.StateCompacting {
			s.compacting(windowFull)
		}
	case droid.SessionCompacted:
		s.compacting(windowFull) // where droid did not say before that it does
		s.compacted("completed", fmt.Sprintf("%d messages became a summary.", ev.RemovedCount))
	default:
		s.log.Debug("event without an ACP form", zap.String("type", ev.Kind()))
	}
}

// hookStarted keeps what the end of the hook may not say again.
func (v *views) hookStarted(ev droid.HookStarted) {
	if v.hooks == nil {
		v.hooks = make(map[string]droid.HookStarted)
	}
	v.hooks[ev.HookID] = ev
}

// hookCompleted tells of the commands of a hook that failed. Those that did
// their work are no news.
func (s *Session) hookCompleted(ev droid.HookCompleted) {
	started := s.views.hooks[ev.HookID]
	delete(s.views.hooks, ev.HookID)
	event := ev.EventName
	if event == "" {
		event = started.EventName
	}
	for i, r := range ev.Results {
		if r.ExitCode == 0 {
			continue
		}
		command := r.Command
		if command == "" && i < len(started.Commands) {
			command = started.Commands[i].Command
		}
		said := strings.TrimSpace(r.Stderr)
		if said == "" {
			said = strings.TrimSpace(r.Stdout)
		}
		text := fmt.Sprintf("The %s hook `%s` failed with exit code %d.", event, firstLine(command), r.ExitCode)
		if said != "" {
			text += "\n" + shorten(said, maxHookOutput)
		}
		s.report(text)
	}
}

// maxHookOutput bounds what is told of a failed hook's output, in bytes.
const maxHookOutput = 500

// shorten cuts text to n bytes at most, with a sign that it did.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + " …"
}

// lostText tells of something that droid sent and that is too long to be read.
func lostText(ev droid.Lost) string {
	what := map[string]string{
		"create_message":       "a message of the conversation",
		"assistant_text_delta": "a piece of the model's answer",
		"thinking_text_delta":  "a piece of the model's thinking",
		"tool_call":            "a tool call",
		"tool_result":          "the result of a tool",
		"request_permission":   "a request for permission, which is refused therefore",
		"ask_user":             "a question, which is dismissed therefore",
	}[ev.Type]
	if what == "" {
		what = "something (" + cmp.Or(ev.Type, "of no known kind") + ")"
	}
	return fmt.Sprintf("droid sent %s of %.1f MB. That is lost, as droid-acp reads %.1f MB at once at most. The session goes on; ask for less at a time, or have it written to a file.",
		what, float64(ev.Size)/1e6, float64(droid.MaxLine)/1e6)
}
