package settings

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// width is how wide the texts for terminals are, in columns.
const width = 100

// Usage is how the command is called.
func (c Command) Usage() string {
	usage := c.Title() + " [flags]"
	if c.Args != "" {
		usage += " " + c.Args
	}
	return usage
}

// Help is what --help prints for a command. For serving, the one without a name, it also
// lists the commands.
func Help(c Command, commands []Command) string {
	var b strings.Builder
	if c.Name == "" {
		b.WriteString(wrap("", c.Long) + "\n\nUsage:\n")
		for _, row := range commands {
			if !row.Hidden {
				b.WriteString(entry(row.Usage(), row.Summary))
			}
		}
		b.WriteString("\nFlags:\n")
	} else {
		fmt.Fprintf(&b, "Usage:\n%s\n", entry(c.Usage(), c.Summary))
		if c.Long != "" {
			b.WriteString(wrap("", c.Long) + "\n\n")
		}
		b.WriteString("Flags:\n")
	}
	for _, row := range c.Settings() {
		if !row.Hidden {
			b.WriteString(entry(row.flagUsage(), row.help()))
		}
	}
	b.WriteString(entry("--version", "print the version"))
	b.WriteString(entry("--help", "print this text, or that of a command"))
	b.WriteString("\nA flag wins over its environment variable, and that over the default.\n")
	if len(c.Exits) > 0 {
		b.WriteString("\nExit codes:\n")
		for _, e := range c.Exits {
			b.WriteString(entry(fmt.Sprint(e.Code), e.Means))
		}
	}
	return b.String()
}

// flagUsage is how the flag is written: "--mode MODE".
func (s Setting) flagUsage() string {
	if s.Value == "" {
		return "--" + s.Name
	}
	return "--" + s.Name + " " + s.Value
}

// help is what the setting does, what is allowed, its default and its variable.
func (s Setting) help() string {
	text := s.Does
	if s.Kind == Choice {
		text += ": " + Or(s.Allowed)
	}
	var more []string
	if d := s.Otherwise(); d != "" {
		more = append(more, "default: "+d)
	}
	if s.Kind == Texts {
		more = append(more, "may be given several times")
	}
	if s.Env != "" {
		more = append(more, "$"+s.Env)
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, "; ") + ")"
	}
	return text
}

// Otherwise is what holds where the setting is not given, in words; "" if that is nothing
// worth a word.
func (s Setting) Otherwise() string {
	if s.Default != "" {
		return s.Default
	}
	return s.Unset
}

// entry is a name and, indented behind or below it, what is said of it.
func entry(name, text string) string {
	const column = 23
	lines := strings.Split(wrap(strings.Repeat(" ", column), text), "\n")
	head := "  " + name
	if n := utf8.RuneCountInString(head); n < column-1 {
		lines[0] = head + strings.Repeat(" ", column-n) + strings.TrimLeft(lines[0], " ")
		head = ""
	} else {
		head += "\n"
	}
	return head + strings.Join(lines, "\n") + "\n"
}

// wrap breaks each paragraph of a text into lines that begin with the indentation.
func wrap(indent, text string) string {
	var lines []string
	for _, paragraph := range strings.Split(text, "\n") {
		line := indent
		for _, word := range strings.Fields(paragraph) {
			switch {
			case line == indent:
				line += word
			case utf8.RuneCountInString(line+" "+word) > width:
				lines, line = append(lines, line), indent+word
			default:
				line += " " + word
			}
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}
