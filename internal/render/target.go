package render

import (
	"path/filepath"
	"slices"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/visible"
)

// RequestedPaths returns the absolute paths that an event asks permission to read or change, nil for other events. Paths in a command are
// not included: the user sees the command itself.
func (v *View) RequestedPaths(ev quirks.Event) (requested []string) {
	if asked, is := ev.(quirks.PermissionRequested); is {
		for _, tool := range asked.Tools {
			requested = append(requested, requestedPaths(tool, v.cwd)...)
		}
	}
	return requested
}

// requestedPaths returns those of one tool without duplicates. A path with ".." is included as it is and cleaned: droid 0.99 leaves it to
// the system, for which a/.. is a different directory if a is a link, and 0.225 cleans it (seen).
func requestedPaths(tool stream.PermissionToolUse, cwd string) (requested []string) {
	add := func(path string) {
		if path == "" {
			return
		}
		exact := path
		if !filepath.IsAbs(path) {
			exact = cwd + string(filepath.Separator) + path
		}
		for _, p := range []string{paths.Absolute(cwd, path), exact} {
			if !slices.Contains(requested, p) && (p == filepath.Clean(p) || strings.Contains(p, "..")) {
				requested = append(requested, p)
			}
		}
	}
	switch tool.Confirmation {
	case "exec", "mcp_tool", confirmSpec:
		return nil
	}
	name, d := tool.ToolUse.Name, tool.Details
	if !toolOf(name).remote {
		add(parseToolInput(tool.ToolUse.Input).FilePath)
	}
	for _, path := range EditedFiles(name, tool.ToolUse.Input, cwd) {
		add(path)
	}
	add(d.FilePath)
	for _, f := range d.Files {
		add(f.FilePath)
		add(f.MoveTo)
	}
	if d.Operation == "read" || d.Operation == "write" {
		add(d.Target)
	}
	return requested
}

// pathTarget is the file that a path of a request refers to.
type pathTarget struct {
	path    string
	real    string // resolved path, "" if that failed
	linked  bool   // real differs from path
	outside bool   // outside of the session's directories
}

// targets returns the paths of a request, those that refer to other files first. It returns nil if each path is itself in the session's
// directories.
func (v *View) targets(tool stream.PermissionToolUse) []pathTarget {
	var elsewhere, others []pathTarget
	for _, path := range requestedPaths(tool, v.cwd) {
		t := v.target(path)
		if tool.Confirmation == "sandbox_violation" && !t.linked {
			t.outside = false // droid itself says where it is
		}
		clean := filepath.Clean(path)
		switch {
		case path != clean && t.real != "" && t.real == v.files[clean].Real: // the cleaned path is included
		case t.real == "" || t.linked || t.outside:
			elsewhere = append(elsewhere, t)
		default:
			others = append(others, t)
		}
	}
	if elsewhere == nil {
		return nil
	}
	return append(elsewhere, others...)
}

// target resolves one path. A link in the path of a session's directory is the user's own.
func (v *View) target(path string) pathTarget {
	t := pathTarget{path: path, real: v.files[path].Real, outside: true}
	t.linked = t.real != "" && !paths.Equal(filepath.Clean(path), t.real)
	for _, dir := range v.directories {
		real := v.files[dir].Real
		if real == "" || t.real == "" || !paths.Below(real, t.real) {
			continue
		}
		t.outside = false
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) && paths.Equal(filepath.Join(real, rel), t.real) {
			t.linked = false
		}
	}
	return t
}

// showTargets shows the files that a call's paths refer to: in its locations and diffs, in a text before the other content, and in its
// title, which it returns.
func (v *View) showTargets(name string, targets []pathTarget, title string, shown *protocol.ToolCall) string {
	var named, sentences []string
	retitle, real := false, make(map[string]string)
	for _, t := range targets {
		path := visible.Exact(strings.TrimPrefix(t.path, v.cwd+string(filepath.Separator))) // keeps ".."
		said := markdown.Code(visible.Line(path))
		switch {
		case t.real == "":
			retitle = true
			named = append(named, path+" (where it leads could not be checked)")
			sentences = append(sentences, "Where "+said+" leads could not be checked. It may be another file.")
		case t.linked:
			retitle = true
			to := fileName(v.cwd, t.real)
			named = append(named, to+" (linked from "+path+")")
			sentence := said + " leads through a symbolic link to " + markdown.Code(visible.Line(to))
			if t.outside {
				sentence += ", outside the session's directories"
			}
			sentences = append(sentences, sentence+".")
			real[filepath.Clean(t.path)] = t.real
		default:
			named = append(named, path)
			if t.outside {
				sentences = append(sentences, said+" is outside the session's directories.")
			}
		}
	}
	for i, l := range shown.Locations {
		if to := real[l.Path]; to != "" {
			shown.Locations[i].Path = to
		}
	}
	for _, c := range shown.Content {
		if c.Diff != nil && real[c.Path] != "" {
			c.Path = real[c.Path]
		}
	}
	shown.Content = slices.Insert(shown.Content, 0, protocol.TextContent(strings.Join(sentences, "\n\n")))
	if !retitle {
		return title
	}
	return boundedTitle(Label(name) + " " + strings.Join(named, ", "))
}

// TargetMoved explains that a path now refers to another file than the one shown. shown and now are resolved paths, "" if that failed.
func TargetMoved(path, shown, now string) string {
	name := func(real string) string {
		if real == "" {
			return "a file that could not be checked"
		}
		return markdown.Code(visible.Line(visible.Exact(real)))
	}
	return markdown.Code(visible.Line(visible.Exact(path))) + " led to " + name(shown) + " when the permission was asked for, and leads to " + name(now) +
		" now, so this was refused. If it is still wanted, droid has to ask again."
}
