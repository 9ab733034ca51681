package quirks

import (
	"encoding/json"
	"fmt"
	"strings"
)

// short cuts a UUID to its first part and keeps a suffix such as "~2", or the id of a subagent's call.
func short(id string) string {
	if subagent, call, is := strings.Cut(id, "."); is {
		return short(subagent) + "." + call
	}
	base, suffix, _ := strings.Cut(id, "~")
	if len(base) == 36 && strings.Count(base, "-") == 4 {
		base = base[:8]
	}
	if suffix != "" {
		return base + "~" + suffix
	}
	return base
}

func compact(raw json.RawMessage) string {
	s := string(raw)
	if len(s) > 160 {
		s = fmt.Sprintf("%s… (%d bytes)", s[:150], len(s))
	}
	return strings.ReplaceAll(s, "\n", " ")
}

// Describe returns an event on one line, for goldens and for a trace.
func Describe(ev Event) string {
	switch ev := ev.(type) {
	case TurnStarted:
		return fmt.Sprintf("turn started, prompt %q, message %s", ev.RequestID, short(ev.MessageID))
	case PromptMerged:
		return fmt.Sprintf("prompt %q folded, message %s", ev.RequestID, short(ev.MessageID))
	case Text:
		kind := "text"
		if ev.Thought {
			kind = "thought"
		}
		return fmt.Sprintf("%s %s %q", kind, short(ev.MessageID), ev.Text)
	case AnswerContinues:
		return "the answer continues"
	case TextRetracted:
		return "text retracted " + short(ev.MessageID)
	case TextRestarted:
		return fmt.Sprintf("text %s holds from byte %d of text and %d of thought: %q", short(ev.MessageID), ev.Void, ev.VoidThought, ev.Text)
	case UserText:
		line := fmt.Sprintf("user %s %q", short(ev.MessageID), ev.Text)
		for i, f := range ev.Files {
			line += fmt.Sprintf("%s %q %s", []string{" with", ","}[min(i, 1)], f.Name, f.MediaType)
		}
		return line
	case UserImage:
		return fmt.Sprintf("user %s image %s, %d bytes of base64", short(ev.MessageID), ev.MediaType, len(ev.Data))
	case Notice:
		return fmt.Sprintf("notice %q", ev.Text)
	case ToolStarted:
		return fmt.Sprintf("tool %s started: %s %s", short(ev.ID), ev.Name, compact(ev.Input))
	case ToolInput:
		return fmt.Sprintf("tool %s input: %s %s", short(ev.ID), ev.Name, compact(ev.Input))
	case ToolRunning:
		return fmt.Sprintf("tool %s runs", short(ev.ID))
	case ToolProgress:
		return fmt.Sprintf("tool %s progress %s %q full %q", short(ev.ID), ev.Update.Type, ev.Update.Text, ev.Update.FullOutput)
	case ToolEnded:
		switch {
		case ev.Unfinished && !ev.IsError:
			return fmt.Sprintf("tool %s ended, it is not known how", short(ev.ID))
		case ev.Unfinished:
			return fmt.Sprintf("tool %s ended unfinished", short(ev.ID))
		case ev.Background:
			return fmt.Sprintf("tool %s ended, its subagent goes on", short(ev.ID))
		case ev.IsError:
			return fmt.Sprintf("tool %s failed %s", short(ev.ID), compact(ev.Content))
		}
		return fmt.Sprintf("tool %s ended %s", short(ev.ID), compact(ev.Content))
	case PermissionRequested:
		var tools, options []string
		for _, u := range ev.Tools {
			tools = append(tools, fmt.Sprintf("%s %s (%s)", short(u.ToolUse.ID), u.ToolUse.Name, u.Confirmation))
		}
		for _, o := range ev.Options {
			options = append(options, o.Value)
		}
		by := ""
		if ev.Subagent != "" {
			by = fmt.Sprintf(" by subagent %q", ev.Subagent)
		}
		return fmt.Sprintf("permission %s asked%s for %s; options %s", short(ev.RequestID), by, strings.Join(tools, ", "), strings.Join(options, " "))
	case QuestionRequested:
		var questions []string
		for _, q := range ev.Questions {
			questions = append(questions, fmt.Sprintf("%q %q", q.Question, q.Options))
		}
		return fmt.Sprintf("question %s asked by %s: %s", short(ev.RequestID), short(ev.ToolID), strings.Join(questions, ", "))
	case RequestWithdrawn:
		return "ask withdrawn " + short(ev.RequestID)
	case SubagentStarted:
		return "subagent " + short(ev.ID) + " began"
	case SubagentAsks:
		return "subagent " + short(ev.ID) + " is about to ask"
	case InSubagent:
		return short(ev.ID) + ": " + Describe(ev.Event)
	case SubagentSteps:
		var steps []string
		for _, step := range ev.Steps {
			steps = append(steps, strings.TrimSpace(step.Text+step.Tool+" "+compact(step.Input)+compact(step.Failed)))
		}
		return fmt.Sprintf("subagent %s of %s: %s", short(ev.ID), ev.ToolID, strings.Join(steps, "; "))
	case SubagentStopped:
		return "subagent " + short(ev.ID) + " stops"
	case SubagentEnded:
		return fmt.Sprintf("subagent %s ended, of %q, named %q, gone %t, reason %q: %q", short(ev.ID), ev.ToolID, ev.Name, ev.Gone, ev.Reason, ev.Answer)
	case SubagentReported:
		return fmt.Sprintf("subagent %s reports, named %q, reason %q", short(ev.ID), ev.Name, ev.Reason)
	case SettingsChanged:
		return fmt.Sprintf("settings model=%s effort=%s mode=%s", or(ev.Settings.ModelID), or(ev.Settings.ReasoningEffort), ev.Settings.Mode())
	case TitleChanged:
		return fmt.Sprintf("title %q", ev.Title)
	case UsageChanged:
		return fmt.Sprintf("usage in=%d out=%d", ev.Total.InputTokens, ev.Total.OutputTokens)
	case Retrying:
		return fmt.Sprintf("retrying, attempt %d, %s", ev.Attempt, ev.Reason)
	case ConcurrentTurn:
		return fmt.Sprintf("a turn beside prompt %q", ev.RequestID)
	case PromptDropped:
		return fmt.Sprintf("discarded prompt %q: %q", ev.RequestID, ev.Text)
	case TurnEnded:
		s := fmt.Sprintf("turn ended, prompt %q, %s, reason %q", ev.RequestID, ev.Outcome, ev.Reason)
		if f := ev.Failure; f != nil {
			s += fmt.Sprintf(", failure %s %s %q advice %q", f.Reason, f.Name, f.Message, f.Advice)
		}
		return s
	case Other:
		return "other " + ev.Event.Kind()
	}
	return fmt.Sprintf("%#v", ev)
}

func or(s *string) string {
	if s == nil {
		return "?"
	}
	return *s
}
