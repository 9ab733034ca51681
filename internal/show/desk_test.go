package show

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"droid-acp/internal/protocol"
)

// desk is a View with a disk of its own, for tests.
type desk struct {
	*View
	disk map[string]string // the texts of files, by path
	now  time.Time
}

// newDesk is a View for a client, in a directory without files.
func newDesk(client protocol.ClientCapabilities) *desk {
	ids := 0
	return &desk{
		View: New(Options{CWD: "/workspace", Capabilities: client, LinesFromOne: true, NewID: func() string {
			ids++
			return fmt.Sprintf("new-%d", ids)
		}}),
		disk: make(map[string]string),
		now:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// inDirectory is a View in a directory with one file.
func inDirectory(t testing.TB, name, text string) (d *desk, path string) {
	t.Helper()
	d = newDesk(protocol.ClientCapabilities{})
	path = filepath.Join(d.cwd, name)
	d.disk[path] = text
	return d, path
}

// texts are the files that an event needs.
func (d *desk) texts(paths ...string) Files {
	if len(paths) == 0 {
		return nil
	}
	files := make(Files)
	for _, path := range paths {
		text, there := d.disk[path]
		switch {
		case !there:
			files[path] = File{Known: true}
		case utf8.ValidString(text):
			files[path] = File{Text: &text, Known: true}
		default:
			files[path] = File{}
		}
	}
	return files
}

// read reads files as for an event, so that what follows knows them.
func (d *desk) read(paths ...string) { d.files = d.texts(paths...) }

// texts is content in short: texts as they are, of all else the type.
func texts(content []protocol.ToolContent) string {
	var out []string
	for _, c := range content {
		switch {
		case c.Content != nil && c.Content.Text != nil:
			out = append(out, *c.Content.Text)
		default:
			out = append(out, c.Type)
		}
	}
	return strings.Join(out, "|")
}
