package render

import (
	"fmt"
	"path/filepath"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/visible"
)

// changeList is a list of changes in which whole-file changes of the same file are merged.
type changeList struct {
	list []fileChange
	at   map[string][]int // indexes by path
}

func listed(changes []fileChange) *changeList {
	var l changeList
	l.add(changes...)
	return &l
}

func (l *changeList) add(more ...fileChange) {
	if l.at == nil {
		l.at = make(map[string][]int)
	}
	for _, c := range more {
		if before := l.whole(c.path); before != nil && !c.part {
			*before = before.to(c.new)
			continue
		}
		l.at[c.path] = append(l.at[c.path], len(l.list))
		l.list = append(l.list, c)
	}
}

// whole returns the change of a file both of whose texts are known, or nil.
func (l *changeList) whole(path string) *fileChange {
	for _, i := range l.at[path] {
		if !l.list[i].part {
			return &l.list[i]
		}
	}
	return nil
}

// of returns the changes of a file.
func (l *changeList) of(path string) (changes []fileChange) {
	for _, i := range l.at[path] {
		changes = append(changes, l.list[i])
	}
	return changes
}

// diffs converts changes to ACP content, as many as a person can review. The others are listed by name.
func diffs(cwd string, changes []fileChange) []protocol.ToolContent {
	var out []protocol.ToolContent
	size := 0
	for i, c := range changes {
		if size += c.size(); i > 0 && (i >= maxChanges || size > maxShown) {
			return append(out, protocol.TextContent(fmt.Sprintf("%d more changes are too many to be shown here: %s",
				len(changes)-i, fileNames(cwd, changes[i:], func(_, name string) string { return verbatim(name) }))))
		}
		out = append(out, c.content(cwd)...)
	}
	return out
}

// size returns the length of both texts, in bytes.
func (c fileChange) size() int { return len(orEmpty(c.old)) + len(orEmpty(c.new)) }

func (c fileChange) content(cwd string) []protocol.ToolContent {
	name := verbatim(fileName(cwd, c.path))
	switch {
	case c.from != "":
		return []protocol.ToolContent{protocol.TextContent("Renames " + verbatim(fileName(cwd, c.from)) + " to " + name)}
	case c.new == nil && c.old == nil:
		return []protocol.ToolContent{protocol.TextContent("Deletes " + name)}
	case c.new == nil && len(*c.old) > maxDiff:
		return []protocol.ToolContent{protocol.TextContent(fmt.Sprintf("Deletes %s (%.1f MB)", name, float64(len(*c.old))/1e6))}
	}
	before, after := orEmpty(c.old), orEmpty(c.new)
	if c.overUnknown {
		shown := beginning(after)
		text := "The text for " + name + ":\n\n" + markdown.Fenced("", shown)
		if shown != after {
			text += fmt.Sprintf("\n\n%d more bytes of it are not shown.", len(after)+len("…")-len(shown))
		}
		return []protocol.ToolContent{protocol.TextContent(text)}
	}
	if c.size() <= maxDiff {
		return []protocol.ToolContent{protocol.DiffContent(c.path, c.old, c.new)}
	}
	size := fmt.Sprintf("%s is large (%.1f MB)", name, float64(max(len(before), len(after)))/1e6)
	before, after = changedLines(before, after)
	if len(before)+len(after) > maxDiff {
		text := size + "; its change is too long to be shown whole."
		if after != "" {
			text += " The new text begins:\n\n" + markdown.Fenced("", beginning(after))
		}
		return []protocol.ToolContent{protocol.TextContent(text)}
	}
	return []protocol.ToolContent{protocol.DiffContent(c.path, &before, &after), protocol.TextContent(size + "; only the lines that change are shown.")}
}

// beginning returns the first lines of a long text.
func beginning(text string) string {
	if len(text) <= maxBeginning {
		return text
	}
	text = text[:maxBeginning]
	if end := strings.LastIndexByte(text, '\n'); end > 0 {
		return text[:end+1] + "…"
	}
	return strings.ToValidUTF8(text, "") + "…"
}

// changedLines removes the common first and last lines of two texts except for three.
func changedLines(a, b string) (string, string) {
	x, y := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	head, tail := common(x, y)
	const around = 3
	head, tail = max(0, head-around), max(0, tail-around)
	from, to := sizeOf(x[:head]), sizeOf(x[len(x)-tail:])
	return a[from : len(a)-to], b[from : len(b)-to]
}

// sizeOf returns the total length of lines in bytes.
func sizeOf(lines []string) (size int) {
	for _, line := range lines {
		size += len(line)
	}
	return size
}

// common returns the number of common first lines and of common last lines among the rest.
func common(a, b []string) (head, tail int) {
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// changeLocations returns the changed files with the first changed line, as many as are shown.
func changeLocations(changes []fileChange) []protocol.Location {
	all := changedFiles(changes)
	return all[:min(len(all), maxChanges)]
}

func changedFiles(changes []fileChange) (files []protocol.Location) {
	seen := make(map[string]struct{}, len(changes))
	for _, c := range changes {
		if _, again := seen[c.path]; !again {
			seen[c.path] = struct{}{}
			files = append(files, protocol.Location{Path: c.path, Line: c.line})
		}
	}
	return files
}

// fileName returns the name of a file for users.
func fileName(cwd, path string) string { return visible.Exact(paths.Relative(cwd, path)) }

// fileNames lists the changed files in a sentence, only the first ones if there are many. named, if not nil, formats each.
func fileNames(cwd string, changes []fileChange, named func(path, name string) string) string {
	var names []string
	for i, l := range changedFiles(changes) {
		if i == maxNames {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(changedFiles(changes))-i)
		}
		name := filepath.ToSlash(fileName(cwd, l.Path))
		if named != nil {
			name = named(l.Path, name)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
