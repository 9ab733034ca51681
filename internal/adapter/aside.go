package adapter

import (
	"cmp"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
)

// aside takes the events that are no part of a turn's text and tools.
func (s *Session) aside(ev stream.Event) {
	switch ev := ev.(type) {
	case stream.MCPStatusChanged:
		s.mcpStatus(ev)
	case stream.MCPAuthRequired:
		s.loginBegan(ev)
	case stream.MCPAuthCompleted:
		s.loginEnded(ev)
	case stream.HookStarted:
		s.views.hookStarted(ev)
	case stream.HookCompleted:
		s.hookCompleted(ev)
	case stream.SessionSwitched:
		s.followTo(ev.To)
	case stream.Lost:
		s.tell(lostText(ev))
	case stream.WorkingStateChanged:
		if ev.State == stream.StateCompacting {
			s.compacting(windowFull)
		}
	case stream.SessionCompacted:
		s.compacting(windowFull) // where droid did not say before that it does
		s.compacted("completed", fmt.Sprintf("%d messages became a summary.", ev.RemovedCount))
	default:
		s.log.Debug("event without an ACP form", zap.String("type", ev.Kind()))
	}
}

// hookStarted keeps what the end of the hook may not say again.
func (v *views) hookStarted(ev stream.HookStarted) {
	if v.hooks == nil {
		v.hooks = make(map[string]stream.HookStarted)
	}
	v.hooks[ev.HookID] = ev
}

// hookCompleted tells of the commands of a hook that failed. Those that did
// their work are no news.
func (s *Session) hookCompleted(ev stream.HookCompleted) {
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
func lostText(ev stream.Lost) string {
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
