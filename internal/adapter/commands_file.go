package adapter

import (
	"cmp"
	"path/filepath"
	"strings"

	"droid-acp/internal/files"
	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
)

// commandFile is a command that droid does not expand itself.
type commandFile struct{ body string }

// commandFiles reads the command files of the project and the user, the project's
// first, and adds those that files lacks to files. Before 0.215 droid does not expand
// them by itself in this mode. Files that the system runs are left out.
func commandFiles(cwd string, files map[string]commandFile) (found []protocol.AvailableCommand) {
	for _, place := range commandPlaces(cwd) {
		walkCommands(place, func(path string) {
			base := filepath.Base(path)
			name := commandName(strings.TrimSuffix(base, filepath.Ext(base)))
			if _, known := files[name]; known || name == "" {
				return
			}
			text, ok := readCommandFile(path)
			if !ok || strings.HasPrefix(text, "#!") {
				return
			}
			fields, body := frontMatter(text)
			files[name] = commandFile{body}
			found = append(found, describeCommand(name, cmp.Or(fields["description"], show.FirstLine(body)), fields["argument-hint"]))
		})
	}
	return found
}

// commandName is the name under which users type a command or a skill: small letters,
// digits and _, with one - for all that stands between them, as droid makes it (0.215
// and 0.225). A name that has none of these stays as it is, unless spaces are in it.
func commandName(name string) string {
	var b strings.Builder
	readable, gap := false, false
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
			readable, gap = true, false
		case !gap:
			b.WriteByte('-')
			gap = true
		}
	}
	if !readable {
		return strings.Join(strings.Fields(name), "-")
	}
	return b.String()
}

// readCommandFile reads a command file and ends its lines as on unix. It reports false
// for anything but a regular file of a sensible size.
func readCommandFile(path string) (text string, ok bool) {
	const largest = 1 << 20
	data, err := files.Read(path, largest)
	if err != nil {
		return "", false
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n"), true
}

// frontMatter splits a command file into its "key: value" head and its body. A value
// may go on in indented lines, behind one of YAML's signs for that.
func frontMatter(text string) (fields map[string]string, body string) {
	fields = map[string]string{}
	rest, ok := strings.CutPrefix(text, "---\n")
	head, after, closed := strings.Cut(rest, "\n---")
	if !ok || !closed {
		return fields, text
	}
	last := ""
	for line := range strings.Lines(head) {
		if more := strings.TrimSpace(line); last != "" && more != "" && strings.ContainsAny(line[:1], " \t") {
			fields[last] = strings.TrimSpace(fields[last] + " " + more)
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		last = strings.TrimSpace(key)
		fields[last] = strings.Trim(strings.TrimSpace(value), `"'`)
		switch fields[last] {
		case ">", ">-", ">+", "|", "|-", "|+":
			fields[last] = ""
		}
	}
	return fields, strings.TrimLeft(after, "\n")
}
