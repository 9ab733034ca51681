package adapter

import (
	"context"
	"slices"
	"strings"

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

	asking bool // they are being looked for
	again  bool // and then once more
	stale  bool // files have changed during the turn that runs, or since the last one
}

// has reports whether there is a custom command or skill of this name.
func (l *commandList) has(name string) bool { return isListed(l.custom, name) }

// isDroids reports whether droid expands this name itself.
func (l *commandList) isDroids(name string) bool {
	_, ours := l.files[name]
	return l.has(name) && !ours
}

// isGone reports whether a name is that of a command which was removed while droid ran.
// droid ends a turn that begins with it, as failed (0.225).
func (l *commandList) isGone(name string) bool {
	return !l.has(name) && slices.Contains(l.gone, commandName(name))
}

// list takes the commands that were found. What droid does not tell is not offered,
// unless it told so before.
func (l *commandList) list(found foundCommands) {
	found = found.after(l.found)
	for _, c := range l.found.commands {
		l.gone = append(l.gone, c.Name)
	}
	l.gone = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(l.gone))), found.lists)
	l.found, l.listed = found, true
	l.custom, l.files = l.found.offered()
}

// ask reports whether the commands are to be looked for now. If that is under way, they
// are looked for once more afterwards.
func (l *commandList) ask() bool {
	if l.asking {
		l.again = true
		return false
	}
	l.asking = true
	return true
}

// asked notes that a look has ended. It reports whether another one is wanted.
func (l *commandList) asked() bool {
	again := l.again
	l.asking, l.again = false, false
	return again
}

// touched notes that files have changed.
func (l *commandList) touched() { l.stale = true }

// wasTouched reports whether files have changed. It says so once.
func (l *commandList) wasTouched() bool {
	stale := l.stale
	l.stale = false
	return stale
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

// listCommands asks droid for its commands and skills, beside the owner, and
// tells the editor. From then on the list follows the files.
func (s *Session) listCommands() {
	client, cwd := s.proc.client(), s.cwd
	if client == nil || s.ended || !s.commands.ask() {
		return
	}
	s.do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		found := s.agent.findCommands(ctx, client, cwd)
		s.post(func() {
			again := s.commands.asked()
			if s.proc.client() == client {
				s.commandsFound(found)
			}
			if again || s.proc.client() != client {
				s.listCommands()
			}
		})
	}, func() { s.commands.asked() })
}

// commandsFound takes the commands that were found.
func (s *Session) commandsFound(found foundCommands) {
	s.commands.list(found)
	s.tellState()
}

// followCommands has the list follow the files, while there is a droid.
func (s *Session) followCommands() {
	s.agent.watch.follow(s.agent.ctx, s.agent.log, s, s.cwd, func() {
		s.post(func() {
			s.commands.touched()
			s.listCommands()
		})
	})
}

// listChanged asks for the commands at the end of a turn if their files have changed:
// droid may have looked at directories that were not there before only with the turn.
func (s *Session) listChanged() {
	if s.commands.wasTouched() {
		s.listCommands()
	}
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
