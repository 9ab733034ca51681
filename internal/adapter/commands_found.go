package adapter

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
)

// foundCommands is what was found in one look for commands and skills.
type foundCommands struct {
	version  stream.Version
	commands []droid.CustomCommand // as droid lists them; nil when it did not
	skills   []droid.Skill         // likewise
	read     []protocol.AvailableCommand
	bodies   map[string]commandFile // of read
}

// findCommands asks droid for its commands and skills, and reads the command files.
func (a *Agent) findCommands(ctx context.Context, client *droid.Client, cwd string) foundCommands {
	found := foundCommands{version: client.Version()}
	if found.version.Has(stream.ExpandsCommands) {
		if commands, err := client.Commands(ctx); err == nil {
			found.commands = append([]droid.CustomCommand{}, commands...)
		}
	}
	if found.version.Has(stream.ListsSkills) {
		if skills, err := client.Skills(ctx); err == nil {
			found.skills = slices.DeleteFunc(append([]droid.Skill{}, skills...), a.isRemoved)
		}
	}
	ctx, cancel := context.WithTimeout(a.ctx, lookTime) // also where droid has taken all of ctx
	defer cancel()
	read, _ := bounded(ctx, a, "commandFiles", cwd, func(cwd string) (read foundCommands, err error) {
		read.bodies = make(map[string]commandFile)
		read.read = commandFiles(cwd, read.bodies)
		return read, nil
	}) // what cannot be read in time is as before
	found.read, found.bodies = read.read, read.bodies
	return found
}

// isRemoved reports whether a skill's file is no longer there: 0.117 goes on listing
// such a skill.
func (a *Agent) isRemoved(skill droid.Skill) bool {
	if skill.Location == "builtin" || !filepath.IsAbs(skill.FilePath) {
		return false
	}
	ctx, cancel := context.WithTimeout(a.ctx, lookTime)
	defer cancel()
	_, err := bounded(ctx, a, "stat of a skill", skill.FilePath, os.Stat)
	return errors.Is(err, fs.ErrNotExist)
}

// after adds what droid did not tell this time, or could not be read, and was known before.
func (f foundCommands) after(before foundCommands) foundCommands {
	if f.bodies == nil {
		f.read, f.bodies = before.read, before.bodies
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
func (f foundCommands) lists(name string) bool {
	return slices.ContainsFunc(f.commands, func(c droid.CustomCommand) bool { return c.Name == name })
}

// offered are the custom commands and the skills that a user can type, and the text of
// those that droid does not expand itself.
func (f foundCommands) offered() (custom []protocol.AvailableCommand, files map[string]commandFile) {
	files = map[string]commandFile{}
	for _, c := range slices.Backward(f.commands) { // of one name, droid runs the last
		// droid gives the name "-" to all that have no letter and no digit.
		if strings.Trim(c.Name, "-") != "" && !isListed(custom, c.Name) {
			custom = append(custom, describeCommand(c.Name, c.Description, c.ArgumentHint))
		}
	}
	slices.Reverse(custom)
	// Since 0.215 droid lists the files itself, but not at once: some turns later if their
	// directory was not there when the session was opened.
	for _, c := range f.read {
		if !isListed(custom, c.Name) {
			custom = append(custom, c)
			files[c.Name] = f.bodies[c.Name]
		}
	}
	for _, skill := range f.skills {
		name, expands := skill.Name, f.version.Has(stream.ExpandsSkills)
		if strings.ContainsFunc(name, unicode.IsSpace) { // droid does not take such a name (0.225)
			name, expands = commandName(name), false
		}
		if !isTyped(skill) || isListed(custom, name) {
			continue
		}
		custom = append(custom, describeCommand(name, skill.Description, ""))
		if !expands {
			files[name] = commandFile{"Use your skill \"" + skill.Name + "\" now. $ARGUMENTS"}
		}
	}
	return custom, files
}
