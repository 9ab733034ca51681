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
		b.WriteString(wrap(width, "", c.Long) + "\n\nUsage:\n")
		var l list
		for _, row := range shown(commands) {
			l.add(row.Usage(), row.Summary)
		}
		b.WriteString(l.String())
	} else {
		fmt.Fprintf(&b, "Usage:\n  %s\n\n%s\n", c.Usage(), wrap(width, "", sentence(upper(c.Summary))))
		if c.Long != "" {
			b.WriteString(wrap(width, "", c.Long) + "\n")
		}
	}
	b.WriteString("\nFlags:\n" + c.flagList())
	if len(c.Reads) > 0 {
		b.WriteString("\nA flag wins over its environment variable, and that over the default.\n")
	}
	var exits list
	for _, e := range c.Exits {
		exits.add(fmt.Sprint(e.Code), e.Means)
	}
	b.WriteString("\nExit codes:\n" + exits.String())
	for i, e := range c.Examples {
		if i == 0 {
			b.WriteString("\nExamples:\n")
		}
		fmt.Fprintf(&b, "  %s\n%s\n", e.Call, wrap(width, "      ", e.Does))
	}
	return b.String()
}

// flagList are the flags of the command and what they do.
func (c Command) flagList() string {
	var l list
	for _, row := range append(c.Settings(), versionAndHelp()...) {
		if !row.Hidden {
			l.add(row.flagUsage(), row.help())
		}
	}
	return l.String()
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
	text := s.meaning()
	var more []string
	if d := s.Otherwise(); d != "" {
		more = append(more, "default: "+d)
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

// list is a list of names and of what is said of each.
type list struct{ names, texts []string }

func (l *list) add(name, text string) {
	l.names, l.texts = append(l.names, name), append(l.texts, text)
}

// String has the texts in a column beside the names.
func (l *list) String() string {
	column := 0
	for _, name := range l.names {
		column = max(column, len(name)+4)
	}
	var b strings.Builder
	for i, name := range l.names {
		text := wrap(width, strings.Repeat(" ", column), l.texts[i])
		b.WriteString("  " + name + text[len(name)+2:] + "\n")
	}
	return b.String()
}

// upper gives a phrase a capital letter.
func upper(phrase string) string { return strings.ToUpper(phrase[:1]) + phrase[1:] }

// wrap breaks each paragraph of a text into lines of at most this width that begin with
// the indentation.
func wrap(width int, indent, text string) string {
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
