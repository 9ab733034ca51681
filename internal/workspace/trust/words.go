package trust

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"droid-acp/internal/droid/layer"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// MostAsked is how many items a user can be asked about at once. Of more nobody reads all.
const MostAsked = 100

// longest is how many bytes of one item are shown.
const longest = 2000

// List names all items, a line each, for a text with Markdown or for a terminal.
func (p Project) List() string {
	var b strings.Builder
	for n, i := range p.Items {
		same := func(o layer.Item) bool {
			return i.Kind == layer.Hook && o.Kind == i.Kind && o.Does == i.Does && o.File == i.File
		}
		if slices.ContainsFunc(p.Items[:n], same) {
			continue // it stands with the first of them
		}
		events := []string{code(i.Name)}
		for _, o := range p.Items[n+1:] {
			if event := code(o.Name); same(o) && !slices.Contains(events, event) {
				events = append(events, event)
			}
		}
		b.WriteString("- " + p.line(i, strings.Join(events, ", ")) + "\n")
	}
	return b.String()
}

// kinds are what items are called: in a line of their own, with the name and what it does, both as code,
// and that once more as plain words; and where they are counted.
var kinds = []struct {
	kind            layer.Kind
	line, one, many string
}{
	{layer.MCPServer, "MCP server %[1]s: %[2]s", "MCP server", "MCP servers"},
	{layer.Hook, "hook, at each %[1]s: %[2]s", "hook", "hooks"},
	{layer.Program, "command that is a program: %[2]s", "program as a command", "programs as commands"},
	{layer.Plugin, "plugins, which may bring all of these: %[1]s %[2]s", "setting for plugins", "settings for plugins"},
	{layer.Allowed, "a shell command that the model may run without asking you: %[2]s", "allowed command", "allowed commands"},
	{layer.Autonomy, "sessions start in a mode that asks less: %[1]s %[2]s", "setting for a mode that asks less", "settings for a mode that asks less"},
	{layer.Strange, aFile, "unknown file", "unknown files"},
	{layer.Preload, aFile, "file that has an old droid run a program", "files that have an old droid run programs"},
	{layer.Unheard, "a setting that no droid has that is known here: %[1]s %[2]s", "unknown setting", "unknown settings"},
	{layer.Setting, "a setting that decides what is asked or where text goes: %[1]s %[2]s", "setting that changes what is asked", "settings that change what is asked"},
	{layer.GitProgram, "a program that git starts by itself in this repository: %[1]s %[2]s", "program that git starts by itself", "programs that git starts by itself"},
	{layer.Unread, aFile, "file that cannot be read", "files that cannot be read"},
}

const aFile = "a file, %[1]s, that %[3]s"

// line says what an item is, what it does, and in which file it stands. name is what it is
// called, as code.
func (p Project) line(i layer.Item, name string) string {
	text := ""
	for _, k := range kinds {
		if k.kind == i.Kind {
			text = fmt.Sprintf(k.line, name, code(i.Does), visible.Line(visible.Exact(i.Does)))
		}
	}
	file := i.File
	if below, err := filepath.Rel(p.Root, file); err == nil && filepath.IsLocal(below) {
		file = below
	}
	return text + " (in " + code(file) + ")"
}

// code is a text as code of Markdown, whatever it has in it. Many spaces are counted, so
// that what stands behind them is not pushed out of sight.
func code(text string) string {
	text = spaces().ReplaceAllStringFunc(visible.Line(visible.Exact(text)), func(run string) string { return fmt.Sprintf(" ␣×%d ", len(run)) })
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + fmt.Sprintf(" … and %d bytes more", len(text)-longest)
	}
	return markdown.Code(text)
}

var spaces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` {5,}`) })

// State says behind a directory what becomes of what its project brings, "" where nothing does.
func (p Project) State() string {
	switch {
	case len(p.Items) == 0:
		return ""
	case !p.Trusted:
		return ", not trusted: " + p.Kinds() + " left out"
	case p.Since.IsZero():
		return ", trusted"
	}
	return ", trusted since " + p.Since.Format("2006-01-02 15:04")
}

// Place is the project's root, in a text with Markdown.
func (p Project) Place() string { return code(p.Root) }

// Kinds says in a few words what there is, such as "2 MCP servers and 1 hook".
func (p Project) Kinds() string {
	var parts []string
	for _, k := range kinds {
		different := map[[2]string]bool{} // one hook may stand at several events
		for _, i := range p.Of(k.kind) {
			name := i.Name
			if k.kind == layer.Hook {
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
