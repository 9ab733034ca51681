package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
	"droid-acp/internal/visible"
)

// slashCommand is a prompt that this agent answers itself.
type slashCommand struct {
	name, args string
	run        func(*Session, *turn, string)
}

// ownCommand is a command of this agent.
type ownCommand struct {
	name, description, hint string
	run                     func(s *Session, t *turn, args string)
}

// ownCommands are all commands of this agent. A custom command of the user with
// one of these names wins.
func (s *Session) ownCommands() []ownCommand {
	own := []ownCommand{
		{"compact", "Replace the conversation by a summary of it", "what the summary must keep", (*Session).compactCommand},
		{"rename", "Give the session a title", "title", (*Session).renameCommand},
		{"fork", "Copy the session as it is now", "", (*Session).forkCommand},
		{"rewind", "Go back to before one of your prompts", "number of the prompt, and \"files\" to restore files, too", (*Session).rewindCommand},
		{"model", "Show or choose the model", "model id", optionCommand(optionModel)},
		{"mode", "Show or choose the mode", "mode", optionCommand(optionMode)},
		{"effort", "Show or choose the reasoning effort", "effort", optionCommand(optionEffort)},
		{"context", "Show what fills the context window", "", (*Session).contextCommand},
		{"usage", "Show the tokens used", "", (*Session).usageCommand},
		{"mcp", "Show MCP servers and tools, or log in to one", "login SERVER", (*Session).mcpCommand},
		{"sessions", "List the latest sessions", "", (*Session).sessionsCommand},
		{"export", "Write the conversation to one HTML file", "file", (*Session).exportCommand},
		{"status", "Show versions, ids and paths, for bug reports", "", (*Session).statusCommand},
		{"help", "Show these commands", "", (*Session).helpCommand},
	}
	if s.agent.cfg.Shell {
		own = append(own, ownCommand{"shell", "Run a shell command yourself, as !COMMAND does; droid is told with your next prompt", "command", (*Session).shellCommand})
	}
	return own
}

// commandOf returns the command that a prompt is, nil for all other prompts: text
// that only looks like one is droid's.
func (s *Session) commandOf(prompt json.RawMessage) *slashCommand {
	var blocks []contentBlock
	if json.Unmarshal(prompt, &blocks) != nil || len(blocks) != 1 || blocks[0].Type != "text" {
		return nil
	}
	if command := s.bangCommand(blocks[0].Text); command != "" {
		return &slashCommand{"shell", command, (*Session).shellCommand}
	}
	name, args, ok := splitCommand(blocks[0].Text)
	if !ok {
		return nil
	}
	if slices.ContainsFunc(s.custom, func(c protocol.AvailableCommand) bool { return c.Name == name }) {
		return nil
	}
	for _, own := range s.ownCommands() {
		if own.name == name {
			return &slashCommand{name, args, own.run}
		}
	}
	return nil
}

// splitCommand splits "/name args".
func splitCommand(text string) (name, args string, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexAny(text, " \t\n")
	if end < 0 {
		return text, "", text != ""
	}
	if end == 0 {
		return "", "", false
	}
	return text[:end], strings.TrimSpace(text[end:]), true
}

// runCommand answers a prompt that is a command. It is cancelled at once, like a
// prompt that waits for droid. What it then waits for is given up, so that the next
// prompt does not wait for it; what droid still does changes nothing here.
func (s *Session) runCommand(t *turn) {
	t.starting = true
	t.work, t.giveUp = context.WithCancel(s.ctx)
	t.command.run(s, t, t.command.args)
}

// reply ends a command with what it has to say.
func (s *Session) reply(t *turn, text string) {
	if s.turn != t {
		return // it was cancelled
	}
	s.sendText(uuid.NewString(), visible.Text(text), false)
	s.finish(t, ending{stop: acp.StopReasonEndTurn})
}

// replyError ends a command that failed. The prompt was answered, so its ending
// is an ordinary one.
func (s *Session) replyError(t *turn, what string, err error) {
	s.reply(t, what+": "+err.Error()+".")
}

// withClient calls f with the session's process.
func (s *Session) withClient(t *turn, f func(client *droid.Client)) {
	s.withDroid(1, func(_ *stream.SessionInfo, err *acp.RequestError) {
		switch {
		case s.turn != t:
		case err != nil:
			s.failTurn(err)
		default:
			f(s.client)
		}
	})
}

// askDroid runs f beside the owner and ends the command with its text.
func (s *Session) askDroid(t *turn, what string, f func(ctx context.Context, client *droid.Client) (string, error)) {
	s.withClient(t, func(client *droid.Client) {
		s.do(func(context.Context) {
			ctx, cancel := context.WithTimeoutCause(t.work, openTime, errOpenTime)
			defer cancel()
			text, err := f(ctx, client)
			s.post(func() {
				if err != nil {
					s.replyError(t, what, outOfTime(ctx, err))
					return
				}
				s.reply(t, text)
			})
		})
	})
}

// outOfTime is err, or why ctx ended when it ran out of time.
func outOfTime(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

// lateResult tells of a session that droid made for a command which nobody waits
// for any more: it was cancelled or took too long.
func (s *Session) lateResult(ev stream.LateResult) {
	var made struct {
		NewSessionID string `json:"newSessionId"`
	}
	if json.Unmarshal(ev.Result, &made) == nil && made.NewSessionID != "" { // of other calls nothing remains to be told
		s.tellLateSession(made.NewSessionID)
	}
}

func (s *Session) tellLateSession(id string) {
	s.notices = append(s.notices, "A command that was given up was done by droid all the same; its result is the session "+id+". This thread goes on without it.")
}

// withHistory calls f with the whole conversation.
func (s *Session) withHistory(t *turn, what string, f func(info *stream.SessionInfo)) {
	s.loadWhole(func(info *stream.SessionInfo, err *acp.RequestError) {
		switch {
		case s.turn != t:
		case err != nil:
			s.replyError(t, what, errors.New(err.Message))
		default:
			f(info)
		}
	})
}

// lacks is the answer of a command that this version of droid has no call for.
func lacks(v stream.Version, what, since string) string {
	return fmt.Sprintf("This droid (protocol %s) cannot %s; droid %s and newer can. Update droid to use this.", v, what, since)
}

// listCommands asks droid for its commands and skills, beside the owner, and
// tells the editor.
func (s *Session) listCommands() {
	client, cwd := s.client, s.cwd
	s.do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		discovers := client.Version().Features().Discovery
		var custom []protocol.AvailableCommand
		files := map[string]commandFile{}
		if discovers {
			commands, _ := client.Commands(ctx) // without an answer there are none to offer
			for _, c := range commands {
				custom = append(custom, describeCommand(c.Name, c.Description, c.ArgumentHint))
			}
		} else {
			custom = commandFiles(cwd, files)
		}
		var skills []droid.Skill
		if !client.Version().IsZero() {
			skills, _ = client.Skills(ctx)
		}
		for _, skill := range skills {
			if skill.Name == "" || isFalse(skill.Enabled) || skill.UserInvocable == nil && skill.Location == "builtin" || isFalse(skill.UserInvocable) {
				continue
			}
			if slices.ContainsFunc(custom, func(c protocol.AvailableCommand) bool { return c.Name == skill.Name }) {
				continue
			}
			custom = append(custom, describeCommand(skill.Name, skill.Description, ""))
			if !discovers {
				files[skill.Name] = commandFile{"Use your skill \"" + skill.Name + "\" now. $ARGUMENTS"}
			}
		}
		s.post(func() {
			s.custom, s.fileCommands, s.listed = custom, files, true
			s.tellCommands()
		})
	})
}

func isFalse(b *bool) bool { return b != nil && !*b }

func describeCommand(name, description, hint string) protocol.AvailableCommand {
	c := protocol.AvailableCommand{Name: name, Description: show.FirstLine(description)}
	if c.Description == "" {
		c.Description = name
	}
	if hint == "" {
		hint = "arguments"
	}
	c.Input = &protocol.CommandInput{Hint: hint}
	return c
}

// tellCommands reports the commands if the editor believes others. It waits for
// droid's list, so that a client does not refuse a custom command in between.
func (s *Session) tellCommands() {
	if !s.registered || !s.listed {
		return
	}
	commands := s.allCommands()
	encoded, _ := json.Marshal(commands) // strings always encode
	if bytes.Equal(encoded, s.toldCommands) {
		return
	}
	s.toldCommands = encoded
	s.send(protocol.AvailableCommandsUpdate{SessionUpdate: "available_commands_update", AvailableCommands: commands})
}

// allCommands are droid's commands and this agent's.
func (s *Session) allCommands() []protocol.AvailableCommand {
	all := slices.Clone(s.custom)
	for _, own := range s.ownCommands() {
		if slices.ContainsFunc(s.custom, func(c protocol.AvailableCommand) bool { return c.Name == own.name }) {
			continue
		}
		c := protocol.AvailableCommand{Name: own.name, Description: own.description}
		if own.hint != "" {
			c.Input = &protocol.CommandInput{Hint: own.hint}
		}
		all = append(all, c)
	}
	return all
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
