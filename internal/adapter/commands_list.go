package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
)

// commandList is what a session knows of the commands that are not this agent's:
// custom commands and skills.
type commandList struct {
	custom []protocol.AvailableCommand
	files  map[string]commandFile // of custom: those that droid does not expand itself
	listed bool                   // custom is known
	told   []byte                 // all commands as the editor was told them last, encoded
}

// has reports whether there is a custom command or skill of this name.
func (l *commandList) has(name string) bool { return isListed(l.custom, name) }

// list takes the commands that were found.
func (l *commandList) list(custom []protocol.AvailableCommand, files map[string]commandFile) {
	l.custom, l.files, l.listed = custom, files, true
}

// untold notes that the editor no longer knows the commands.
func (l *commandList) untold() { l.told = nil }

// changed notes what the editor is about to be told. It reports whether that is
// news.
func (l *commandList) changed(all []protocol.AvailableCommand) bool {
	encoded, _ := json.Marshal(all) // strings always encode
	news := !bytes.Equal(encoded, l.told)
	l.told = encoded
	return news
}

// expand replaces "/name args" by the command's text where droid does not do that
// itself (before 0.215).
func (l *commandList) expand(text string) string {
	name, args, ok := splitCommand(text)
	if !ok {
		return text
	}
	if file, ok := l.files[name]; ok {
		return strings.ReplaceAll(file.body, "$ARGUMENTS", args)
	}
	return text
}

// listCommands asks droid for its commands and skills, beside the owner, and
// tells the editor.
func (s *Session) listCommands() {
	client, cwd := s.proc.client(), s.cwd
	s.do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		custom, files := findCommands(ctx, client, cwd)
		s.post(func() {
			s.commands.list(custom, files)
			s.tellCommands()
		})
	})
}

// findCommands returns the custom commands and the skills that a user can type, and
// the text of those that droid does not expand itself. What droid does not answer
// is not offered.
func findCommands(ctx context.Context, client *droid.Client, cwd string) (custom []protocol.AvailableCommand, files map[string]commandFile) {
	version := client.Version()
	files = map[string]commandFile{}
	if version.Has(stream.ExpandsCommands) {
		commands, _ := client.Commands(ctx)
		for _, c := range commands {
			custom = append(custom, describeCommand(c.Name, c.Description, c.ArgumentHint))
		}
	} else {
		custom = commandFiles(cwd, files)
	}
	if !version.Has(stream.ListsSkills) {
		return custom, files
	}
	skills, _ := client.Skills(ctx)
	for _, skill := range skills {
		if !isTyped(skill) || isListed(custom, skill.Name) {
			continue
		}
		custom = append(custom, describeCommand(skill.Name, skill.Description, ""))
		if !version.Has(stream.ExpandsSkills) {
			files[skill.Name] = commandFile{"Use your skill \"" + skill.Name + "\" now. $ARGUMENTS"}
		}
	}
	return custom, files
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

// tellCommands reports the commands if the editor was told others, or none. It waits
// for droid's list, so that a client does not refuse a custom command until then.
func (s *Session) tellCommands() {
	if !s.registered || !s.commands.listed {
		return
	}
	if all := s.allCommands(); s.commands.changed(all) {
		s.send(protocol.AvailableCommandsUpdate{SessionUpdate: "available_commands_update", AvailableCommands: all})
	}
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
