package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
)

// harness is a View with its own disk, for tests.
type harness struct {
	*View
	disk map[string]string // the texts of files, by path
	real map[string]string // where paths lead, "" for what cannot be checked; others lead where they say
	now  time.Time
}

// newHarness is a View for a client, in a directory without files.
func newHarness(client protocol.ClientCapabilities) *harness {
	ids := 0
	return &harness{
		View: New(Options{CWD: "/workspace", Capabilities: client, LinesFromOne: true, NewID: func() string {
			ids++
			return fmt.Sprintf("new-%d", ids)
		}}),
		disk: make(map[string]string),
		now:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// inDirectory is a View in a directory with one file.
func inDirectory(t testing.TB, name, text string) (d *harness, path string) {
	t.Helper()
	d = newHarness(protocol.ClientCapabilities{})
	path = filepath.Join(d.cwd, name)
	d.disk[path] = text
	return d, path
}

// texts are the files that an event needs.
func (d *harness) texts(paths ...string) Files {
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

// Permission shows a request with the adapter's additions to files.
func (d *harness) Permission(ev quirks.PermissionRequested, files Files, set PermissionContext) *Permission {
	set.Directories = append(set.Directories, d.cwd)
	resolved := make(Files)
	maps.Copy(resolved, files)
	for _, path := range append(d.RequestedPaths(ev), set.Directories...) {
		f := resolved[path]
		f.Real = path
		if real, led := d.real[path]; led {
			f.Real = real
		}
		resolved[path] = f
	}
	return d.View.Permission(ev, resolved, set)
}

// read reads files as for an event, so that what follows knows them.
func (d *harness) read(paths ...string) { d.files = d.texts(paths...) }

// texts returns content in short form: the texts, and the types of everything else.
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

// event shows an event with the files that it needs, and returns the shown updates in short form.
func (d *harness) event(events ...quirks.Event) (shown []string) {
	for _, ev := range events {
		shown = append(shown, short(d.Event(d.moment(), ev, d.texts(d.NeededFiles(ev)...)))...)
	}
	return shown
}

// pass lets time pass and returns what that shows.
func (d *harness) pass(by time.Duration) []string {
	d.now = d.now.Add(by)
	return short(d.Tick(d.moment()))
}

func (d *harness) moment() Moment { return Moment{Now: d.now, HasRoom: true} }

// short writes outputs for readers, a line each.
func short(outputs []Output) (lines []string) {
	for _, o := range outputs {
		switch u := o.(type) {
		case Notice:
			lines = append(lines, "report "+string(u))
		case Text:
			kind := "text "
			if u.Thought {
				kind = "thought "
			} else if u.Notice {
				kind = "notice "
			}
			lines = append(lines, kind+u.MessageID+": "+u.Text)
		case protocol.ToolCall:
			line := strings.Join(strings.Fields(u.SessionUpdate+" "+u.ToolCallID+" "+u.Status+" "+string(u.Title)), " ")
			if u.Content != nil {
				line += " = " + texts(u.Content)
			}
			if u.Meta != nil && u.Meta.TerminalOutput != nil {
				line += " < " + u.Meta.TerminalOutput.Data
			}
			if u.Meta != nil && u.Meta.TerminalExit != nil {
				line += " exit"
			}
			lines = append(lines, line)
		case protocol.PlanUpdate:
			lines = append(lines, fmt.Sprintf("plan of %d", len(u.Entries)))
		case protocol.NoticeUpdate:
			lines = append(lines, u.Severity+" "+string(u.Title))
		case protocol.CompactionUpdate:
			lines = append(lines, "compaction "+u.CompactionID+" "+u.Status)
		case protocol.UserMessageChunk:
			if u.Content.Text == nil {
				lines = append(lines, u.SessionUpdate+" "+u.MessageID+": "+u.Content.MimeType+" "+u.Content.Data)
			} else {
				lines = append(lines, u.SessionUpdate+" "+u.MessageID+": "+*u.Content.Text)
			}
		default:
			lines = append(lines, fmt.Sprintf("%T", u))
		}
	}
	return lines
}

// started, ran and ended are events of a call.
func started(id, name, input string) quirks.Event {
	return quirks.ToolStarted{ID: id, Name: name, Input: json.RawMessage(input)}
}

func ran(id string) quirks.Event { return quirks.ToolRunning{ID: id} }

func ended(id, name, result string) quirks.ToolEnded {
	raw, _ := json.Marshal(result) // strings always encode
	return quirks.ToolEnded{ID: id, Name: name, Content: raw}
}
