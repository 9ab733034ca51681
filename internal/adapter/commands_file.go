package adapter

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
)

// commandFile is a command that droid does not expand itself.
type commandFile struct{ body string }

// commandFiles reads the command files of the project and the user, the project's
// first, and adds them to files. 0.99 does not expand them by itself in this mode.
func commandFiles(cwd string, files map[string]commandFile) (found []protocol.AvailableCommand) {
	dirs := []string{filepath.Join(cwd, ".factory", "commands")}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".factory", "commands"))
	}
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir) // most have none
		for _, e := range entries {
			name, named := strings.CutSuffix(e.Name(), ".md")
			if _, known := files[name]; known || !named {
				continue
			}
			text, ok := readCommandFile(filepath.Join(dir, e.Name()))
			if !ok {
				continue
			}
			fields, body := frontMatter(text)
			files[name] = commandFile{body}
			found = append(found, describeCommand(name, cmp.Or(fields["description"], show.FirstLine(body)), fields["argument-hint"]))
		}
	}
	return found
}

// readCommandFile reads a command file and ends its lines as on unix. It reports false
// for anything but a regular file of a sensible size.
func readCommandFile(path string) (text string, ok bool) {
	const largest = 1 << 20
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > largest {
		return "", false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n"), true
}

// frontMatter splits a command file into its "key: value" head and its body.
func frontMatter(text string) (fields map[string]string, body string) {
	fields = map[string]string{}
	rest, ok := strings.CutPrefix(text, "---\n")
	head, after, closed := strings.Cut(rest, "\n---")
	if !ok || !closed {
		return fields, text
	}
	for line := range strings.Lines(head) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			fields[strings.TrimSpace(key)] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return fields, strings.TrimLeft(after, "\n")
}
