package commands

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
)

// Found is the result of one search.
type Found struct {
	commands []droid.CustomCommand // as droid lists them; nil when it did not
	skills   []droid.Skill         // likewise
}

// Find asks droid for its commands and skills until ctx ends. One that does not expand them
// in a prompt (before 0.215) is not asked, so that nothing is offered which would not work.
func Find(ctx context.Context, client *droid.Client) (found Found) {
	if !client.Version().Supports(stream.ExpandsCommands) {
		return found
	}
	if commands, err := client.Commands(ctx); err == nil {
		found.commands = append([]droid.CustomCommand{}, commands...)
	}
	if skills, err := client.Skills(ctx); err == nil {
		found.skills = append([]droid.Skill{}, skills...)
	}
	return found
}

// after adds what droid reported before and not this time.
func (f Found) after(before Found) Found {
	if f.commands == nil {
		f.commands = before.commands
	}
	if f.skills == nil {
		f.skills = before.skills
	}
	return f
}

// offered returns the commands that a user can type.
func (f Found) offered() (all []protocol.AvailableCommand) {
	for _, c := range slices.Backward(f.commands) { // of one name, droid runs the last
		// droid gives the name "-" to all that have no letter and no digit.
		if strings.Trim(c.Name, "-") != "" && !has(all, protocol.Line(c.Name)) {
			all = append(all, describe(c.Name, c.Description, c.ArgumentHint))
		}
	}
	slices.Reverse(all)
	for _, skill := range f.skills {
		if isTyped(skill) && !has(all, protocol.Line(skill.Name)) {
			all = append(all, describe(skill.Name, skill.Description, ""))
		}
	}
	return all
}

// isTyped reports whether users start a skill by typing its name. Where droid does not
// say, that holds for all but droid's own skills. droid takes no name with a space in it (0.225).
func isTyped(skill droid.Skill) bool {
	switch {
	case skill.Name == "" || strings.ContainsFunc(skill.Name, unicode.IsSpace) || skill.Enabled != nil && !*skill.Enabled:
		return false
	case skill.UserInvocable == nil:
		return skill.Location != "builtin"
	}
	return *skill.UserInvocable
}

// AnyArguments is the hint for the arguments of a command that gives none.
const AnyArguments = "arguments"

// describe returns the description in the menu: the first sentence that does not say when a model should use the skill.
func describe(name, description, hint string) protocol.AvailableCommand {
	sentence, rest := render.CutSentence(render.FirstLine(description))
	for strings.HasPrefix(sentence, "Use when ") {
		sentence, rest = render.CutSentence(rest)
	}
	c := protocol.AvailableCommand{Name: protocol.Line(name), Description: protocol.Line(sentence)}
	if c.Description == "" {
		c.Description = protocol.Line(name)
	}
	if hint == "" {
		hint = AnyArguments
	}
	c.Input = &protocol.CommandInput{Hint: protocol.Line(hint)}
	return c
}
