package adapter

import (
	"context"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
)

// commandList is what a session knows of the commands that are not this agent's:
// custom commands and skills.
type commandList struct {
	found  foundCommands
	custom []protocol.AvailableCommand // that users can type, each name once
	files  map[string]commandFile      // of custom: those that droid does not expand itself
	gone   []string                    // what droid listed once and does not list any more
	listed bool                        // they are known

	looks, taken int // the last look that began, and the last one whose outcome was taken
	open         int // looks that are under way
}

// has reports whether there is a custom command or skill of this name.
func (l *commandList) has(name string) bool { return isListed(l.custom, name) }

// isGone reports whether a name is that of a command which was removed while droid ran.
// droid ends a turn that begins with it, as failed (0.225).
func (l *commandList) isGone(name string) bool {
	return !l.has(name) && slices.Contains(l.gone, commandName(name))
}

// look notes that a look for commands begins, and returns its number.
func (l *commandList) look() int {
	l.looks++
	l.open++
	return l.looks
}

// take takes what was found in a look, unless a later look was taken already. What droid
// does not tell is not offered, unless it told so before.
func (l *commandList) take(look int, found foundCommands) {
	if look < l.taken {
		return
	}
	found = found.after(l.found)
	for _, c := range l.found.commands {
		l.gone = append(l.gone, c.Name)
	}
	l.gone = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(l.gone))), found.lists)
	l.found, l.listed, l.taken = found, true, look
	l.custom, l.files = l.found.offered()
}

// expand replaces "/name args" by the command's text where droid does not do that
// itself: before 0.215, and for commands that droid does not list.
func (l *commandList) expand(text string) string {
	name, args, ok := splitCommand(text)
	if !ok {
		return text
	}
	file, ok := l.files[name]
	if !ok && !strings.ContainsAny(name, `/\`) { // no path
		file, ok = l.files[commandName(name)] // droid, too, takes /NAME for /name (0.215 and 0.225)
	}
	if ok {
		return strings.ReplaceAll(file.body, "$ARGUMENTS", args)
	}
	return text
}

// lookForCommands asks droid for its commands and skills and reads the command files,
// beside the owner, tells the editor what is new, and calls then. droid has so long for
// its answer; what it does not tell is as before.
func (s *Session) lookForCommands(limit time.Duration, then func()) {
	client, cwd := s.proc.client(), s.cwd
	if client == nil || s.ended {
		then()
		return
	}
	look := s.commands.look()
	over := func() { s.commands.open--; then() }
	s.do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		found := s.agent.findCommands(ctx, client, cwd)
		s.post(func() {
			if s.proc.client() == client {
				s.commands.take(look, found)
				s.tellState()
			}
			over()
		})
	}, over)
}

// isTyped reports whether users start a skill by typing its name. Where droid does not
// say, that holds for all but droid's own skills.
func isTyped(skill droid.Skill) bool {
	switch {
	case skill.Name == "" || skill.Enabled != nil && !*skill.Enabled:
		return false
	case skill.UserInvocable == nil:
		return skill.Location != "builtin"
	}
	return *skill.UserInvocable
}

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

// allCommands are the custom commands, the skills and this agent's commands.
func (s *Session) allCommands() []protocol.AvailableCommand {
	all := slices.Clone(s.commands.custom)
	for _, own := range s.ownCommands() {
		if s.commands.has(own.name) {
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

// isListed reports whether there is a command of this name among some.
func isListed(commands []protocol.AvailableCommand, name string) bool {
	return slices.ContainsFunc(commands, func(c protocol.AvailableCommand) bool { return c.Name == name })
}
