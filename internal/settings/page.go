package settings

import (
	"fmt"
	"slices"
	"strings"
)

// Page is docs/options.md. update is the command that writes the page anew.
func Page(commands []Command, update string) string {
	var b strings.Builder
	fmt.Fprintf(&b, pageHead, update, Or(strict(commands)), strings.Join(contradictions(commands), "\n"))
	b.WriteString("## Settings\n\n| flag | environment | default | who reads it | what it does |\n|---|---|---|---|---|\n")
	for _, row := range Common() {
		fmt.Fprintf(&b, "| %s | `$%s` | %s | %s | %s |\n", code(row.flagUsage()), row.Env, cell(row.Otherwise()), strings.Join(readers(row.Name, commands), ", "), cell(row.meaning()))
	}
	for _, c := range shown(commands) {
		writeOwn(&b, c)
	}
	b.WriteString("\n## Commands\n\n| command | what it does |\n|---|---|\n")
	for _, c := range shown(commands) {
		fmt.Fprintf(&b, "| %s | %s |\n", code(c.Usage()), cell(c.about()))
	}
	b.WriteString("\n## Exit codes\n\n| command | code | meaning |\n|---|---|---|\n")
	for _, c := range shown(commands) {
		for _, e := range c.Exits {
			fmt.Fprintf(&b, "| %s | %d | %s |\n", code(c.Title()), e.Code, cell(e.Means))
		}
	}
	b.WriteString("\n## Other variables\n\nThose of the system and of droid that matter here:\n\n| variable | what it does |\n|---|---|\n")
	for _, v := range Variables() {
		fmt.Fprintf(&b, "| `$%s` | %s |\n", v.Name, cell(v.Does))
	}
	return b.String()
}

const pageHead = `# Options

All that droid-acp can be told by flags and by its environment. This page is made from the table in
` + "`internal/settings`" + `; ` + "`%s`" + ` writes it anew.

## Which one counts

- A flag wins over its environment variable, and that over the default. A variable with an empty value is one that is not set.
  An empty flag, such as ` + "`--mode \"\"`" + `, asks for droid's own in spite of the variable.
- Flags are written ` + "`--mode spec`" + ` or ` + "`--mode=spec`" + `; one dash will do. A switch (a flag without a value) is turned off by
  ` + "`--shell=false`" + `, its variable takes ` + "`true`" + ` or ` + "`false`" + `, ` + "`1`" + ` or ` + "`0`" + `. They may stand before or behind a command
  and its arguments; what stands behind ` + "`--`" + ` is no flag. Where a flag is given twice, the last counts.
- A value that is not allowed is an error that names the flag or the variable and says what is allowed (exit code 2). A variable is
  looked at only by a command that reads it, and only where its flag is not given.
- A flag that nobody knows is an error, and so is one that means nothing to the command. Only ` + "`login`" + ` passes over the flags of
  serving, since editors append it to these.
- A variable ` + "`DROID_ACP_…`" + ` that is in none of these tables is told with the name that was perhaps meant. While serving it is a
  warning on stderr and in the log: an environment is shared with older and newer droid-acps, and an editor should not lose its
  agent by it. To %s it is an error, so that no check passes with other settings than were meant.
- These contradict each other, and are an error that names both:
%s

`

// strict are the commands to which an unknown variable is an error.
func strict(commands []Command) (words []string) {
	for _, c := range shown(commands) {
		if c.Strict {
			words = append(words, code(c.Name))
		}
	}
	return words
}

// contradictions are items of a list: which flags exclude each other.
func contradictions(commands []Command) (items []string) {
	for _, c := range shown(commands) {
		for _, pair := range c.Exclude {
			items = append(items, fmt.Sprintf("  - `--%s` and `--%s` (%s)", pair[0], pair[1], c.Word()))
		}
	}
	return items
}

// writeOwn writes the table of the flags that only one command has.
func writeOwn(b *strings.Builder, c Command) {
	head := fmt.Sprintf("\n## Flags of %s\n\n| flag | default | what it does |\n|---|---|---|\n", c.Word())
	for _, row := range c.Own {
		if row.Hidden {
			continue
		}
		fmt.Fprintf(b, "%s| %s | %s | %s |\n", head, code(row.flagUsage()), cell(row.Otherwise()), cell(row.meaning()))
		head = ""
	}
}

// meaning is what the setting does and what is allowed.
func (s Setting) meaning() string {
	text := s.Does
	if s.Kind == Choice {
		text += ": " + Or(s.Allowed)
	}
	if s.Kind == Texts {
		text += "; may be given several times"
	}
	return text
}

// readers are the commands that read a setting of Common.
func readers(name string, commands []Command) (words []string) {
	for _, c := range shown(commands) {
		if slices.Contains(c.Reads, name) {
			words = append(words, c.Word())
		}
	}
	return words
}

// shown are the commands that people are told of.
func shown(commands []Command) (rows []Command) {
	for _, c := range commands {
		if !c.Hidden {
			rows = append(rows, c)
		}
	}
	return rows
}

func code(text string) string { return "`" + strings.ReplaceAll(text, "|", `\|`) + "`" }

func cell(text string) string {
	if text == "" {
		return "–"
	}
	return strings.ReplaceAll(text, "|", `\|`)
}

// about is the summary and, but for serving, what else there is to say.
func (c Command) about() string {
	if c.Name == "" || c.Long == "" {
		return c.Summary
	}
	return sentence(c.Summary) + " " + c.Long
}

// sentence is a phrase with a full stop.
func sentence(phrase string) string {
	return strings.TrimRight(phrase, ".") + "."
}
