package trust

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// maxItemSize is the number of bytes of one item that are shown.
const maxItemSize = 2000

// List returns all items, one per line, as Markdown that is also readable in a terminal.
func (p Project) List() string {
	return "- " + strings.Join(p.lines(), "\n- ") + "\n"
}

// screenRows and screenColumns are the size of a list that a user reads before they answer.
const screenRows, screenColumns = 20, 80

// Fits reports whether the List fits on one screen. A user is not asked about a longer one: a yes covers what was shown.
func (p Project) Fits() bool { return p.Screen("") == p.List() }

// Screen returns the part of the List that fits on one screen; whole says how to see all of it.
func (p Project) Screen(whole string) string {
	var b strings.Builder
	lines, room := p.lines(), screenRows
	for i, line := range lines {
		if room -= (utf8.RuneCountInString("- "+line) + screenColumns - 1) / screenColumns; room < 0 {
			fmt.Fprintf(&b, "- and %d more: %s\n", len(lines)-i, whole)
			break
		}
		b.WriteString("- " + line + "\n")
	}
	return b.String()
}

// lines describes all items in the order of kinds, one per line, except that a hook for several events and the commands that one file
// allows share a line.
func (p Project) lines() (lines []string) {
	for _, k := range kinds {
		items := p.Of(k.kind)
		for n, i := range items {
			same := func(o projectconfig.Item) bool {
				return o.File == i.File && (k.kind == projectconfig.Allowed || k.kind == projectconfig.Hook && o.Does == i.Does)
			}
			if slices.ContainsFunc(items[:n], same) {
				continue // listed with the first of them
			}
			names := []string{code(nameOf(i))}
			for _, o := range items[n+1:] {
				if name := code(o.Name); same(o) && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			lines = append(lines, p.line(k.line, i, strings.Join(names, ", ")))
		}
	}
	return lines
}

// kinds are the descriptions of items, those first that run by themselves: the format of a line, with the name, the action as code, the
// action as text and the file; and the nouns for counts.
var kinds = []struct {
	kind            projectconfig.Kind
	line, one, many string
}{
	{projectconfig.MCPServer, "MCP server %[1]s: %[2]s" + in, "MCP server", "MCP servers"},
	{projectconfig.Hook, "hook, at each %[1]s: %[2]s" + in, "hook", "hooks"},
	{projectconfig.GitProgram, "a program that git starts by itself in this repository: %[1]s %[2]s" + in, "program that git starts by itself", "programs that git starts by itself"},
	{projectconfig.Preload, "programs that an old droid runs as it starts, in %[4]s", "file from which an old droid runs programs", "files from which an old droid runs programs"},
	{projectconfig.Plugin, "plugins, which may bring all of these: %[1]s %[2]s" + in, "setting for plugins", "settings for plugins"},
	{projectconfig.UnknownFile, aFile, "unknown file", "unknown files"},
	{projectconfig.Unread, aFile, "file that cannot be read", "files that cannot be read"},
	{projectconfig.Program, "script %[1]s: %[4]s", "slash command that is a script", "slash commands that are scripts"},
	{projectconfig.Setting, "a setting that decides what is asked or where text goes: %[1]s %[2]s" + in, "setting that changes what is asked", "settings that change what is asked"},
	{projectconfig.UnknownKey, "a setting that no droid has that is known here: %[1]s %[2]s" + in, "unknown setting", "unknown settings"},
	{projectconfig.Autonomy, "sessions start in a mode that asks less: %[1]s %[2]s" + in, "setting for a mode that asks less", "settings for a mode that asks less"},
	{projectconfig.Allowed, "shell commands that run without asking: %[1]s" + in, "shell command allowed without asking", "shell commands allowed without asking"},
}

// Question returns the question whether the project, which Fits, may run what it brings.
func (p Project) Question() (title, text string) {
	return "Trust this project?", "If you trust it, this runs in " + p.rootMarkdown() + " without asking:\n\n" + p.List()
}

// ExcludedText states that the project's configuration was left out; then says what to do about it.
func (p Project) ExcludedText(then string) string {
	return "Left out until you trust this project: " + p.Kinds() + ". " + then
}

// nameOf returns the name by which a user knows an item.
func nameOf(i projectconfig.Item) string {
	if i.Kind == projectconfig.Program {
		return i.Command()
	}
	return i.Name
}

const (
	in    = " (in %[4]s)"
	aFile = "a file, %[4]s, that %[3]s"
)

// line describes an item: its kind and name, its effect, and its file. names is its name, as code.
func (p Project) line(format string, i projectconfig.Item, names string) string {
	file := i.File
	if below, err := filepath.Rel(p.Root, file); err == nil && filepath.IsLocal(below) {
		file = below
	}
	if i.Kind == projectconfig.Program && i.Does != i.File {
		format = aFile // it could not be read
	}
	return fmt.Sprintf(format, names, code(i.Does), visible.Line(visible.Exact(i.Does)), code(file))
}

// code returns text as inline code of Markdown. Long runs of spaces are counted, so that what follows is not pushed out of sight.
func code(text string) string {
	text = spaces().ReplaceAllStringFunc(visible.Line(visible.Exact(text)), func(run string) string { return fmt.Sprintf(" ␣×%d ", len(run)) })
	if len(text) > maxItemSize {
		text = strings.ToValidUTF8(text[:maxItemSize], "") + fmt.Sprintf(" … and %d bytes more", len(text)-maxItemSize)
	}
	return markdown.Code(text)
}

var spaces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` {5,}`) })

// State returns what becomes of the project's items, to be appended to its directory; "" if it brings nothing.
func (p Project) State() string {
	switch {
	case len(p.Items) == 0:
		return ""
	case !p.Trusted:
		return ", not trusted: " + p.Kinds() + " left out"
	case p.since.IsZero():
		return ", trusted"
	}
	return ", trusted since " + p.since.Format("2006-01-02 15:04")
}

// rootMarkdown returns the project's root as Markdown.
func (p Project) rootMarkdown() string { return code(p.Root) }

// Kinds counts the items by kind, such as "2 MCP servers and 1 hook".
func (p Project) Kinds() string {
	var parts []string
	for _, k := range kinds {
		different := map[[2]string]bool{} // a hook may be registered for several events
		for _, i := range p.Of(k.kind) {
			name := i.Name
			if k.kind == projectconfig.Hook {
				name = ""
			}
			different[[2]string{name, i.Does + "\x00" + i.File}] = true
		}
		switch n := len(different); n {
		case 0:
		case 1:
			parts = append(parts, "1 "+k.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, k.many))
		}
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
