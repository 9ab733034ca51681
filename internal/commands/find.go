package commands

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
)

// Disk reads the disk for Find. Its calls may hang; who makes a Disk bounds them.
type Disk struct {
	Files   func() (Files, error)  // as ReadFiles does
	Missing func(path string) bool // there is no file of this path
}

// Found is what was found in one look.
type Found struct {
	version  stream.Version
	commands []droid.CustomCommand // as droid lists them; nil when it did not
	skills   []droid.Skill         // likewise
	files    Files                 // likewise
}

// Find asks droid for its commands and skills until ctx ends, and reads the command files.
func Find(ctx context.Context, client *droid.Client, disk Disk) Found {
	found := Found{version: client.Version()}
	if found.version.Has(stream.ExpandsCommands) {
		if commands, err := client.Commands(ctx); err == nil {
			found.commands = append([]droid.CustomCommand{}, commands...)
		}
	}
	if found.version.Has(stream.ListsSkills) {
		if skills, err := client.Skills(ctx); err == nil {
			found.skills = slices.DeleteFunc(append([]droid.Skill{}, skills...), func(s droid.Skill) bool { // 0.117 goes on listing one that was removed
				return s.Location != "builtin" && filepath.IsAbs(s.FilePath) && disk.Missing(s.FilePath)
			})
		}
	}
	found.files, _ = disk.Files() // what cannot be read is as before
	return found
}

// after adds what droid did not tell this time, or could not be read, and was known before.
func (f Found) after(before Found) Found {
	if f.files.texts == nil {
		f.files = before.files
	}
	if f.commands == nil {
		f.commands = before.commands
	}
	if f.skills == nil {
		f.skills = before.skills
	}
	return f
}

// lists reports whether droid lists a command of this name.
func (f Found) lists(name string) bool {
	return slices.ContainsFunc(f.commands, func(c droid.CustomCommand) bool { return c.Name == name })
}

// offered are the commands that a user can type, and the texts of those that droid does
// not expand itself.
func (f Found) offered() (all []protocol.AvailableCommand, texts map[string]string) {
	texts = make(map[string]string)
	for _, c := range slices.Backward(f.commands) { // of one name, droid runs the last
		// droid gives the name "-" to all that have no letter and no digit.
		if strings.Trim(c.Name, "-") != "" && !has(all, protocol.Line(c.Name)) {
			all = append(all, describe(c.Name, c.Description, c.ArgumentHint))
		}
	}
	slices.Reverse(all)
	// Since 0.215 droid lists the files itself, but not at once: some turns later if their
	// directory was not there when the session was opened.
	for _, c := range f.files.commands {
		if !has(all, c.Name) {
			all = append(all, c)
			texts[string(c.Name)] = f.files.texts[string(c.Name)]
		}
	}
	for _, skill := range f.skills {
		name, expands := skill.Name, f.version.Has(stream.ExpandsSkills)
		if strings.ContainsFunc(name, unicode.IsSpace) { // droid does not take such a name (0.225)
			name, expands = Name(name), false
		}
		if !isTyped(skill) || has(all, protocol.Line(name)) {
			continue
		}
		all = append(all, describe(name, skill.Description, ""))
		if !expands {
			texts[name] = "Use your skill \"" + skill.Name + "\" now. $ARGUMENTS"
		}
	}
	return all, texts
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

func describe(name, description, hint string) protocol.AvailableCommand {
	c := protocol.AvailableCommand{Name: protocol.Line(name), Description: protocol.Line(show.FirstLine(description))}
	if c.Description == "" {
		c.Description = protocol.Line(name)
	}
	if hint == "" {
		hint = "arguments"
	}
	c.Input = &protocol.CommandInput{Hint: protocol.Line(hint)}
	return c
}
