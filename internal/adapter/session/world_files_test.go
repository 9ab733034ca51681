//go:build linux

package session_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/testing/testeditor"
)

// worldFile is a file that a window's user has open, and that droid edits for them.
type worldFile struct {
	path   string
	typed  string // what the user has not saved in the beginning
	worked []int  // the prompts whose edits succeeded, as droid was answered
	gave   []int  // the prompts whose edits were dropped for what was saved during them, as their droids were answered
	edited int    // how many droids edit it now
	raced  bool   // two did so at a time, and no agent stood between them
}

// hasFiles gives a window files in the project, on the disk alone or in buffers.
func (win *window) hasFiles(buffers bool) {
	w := win.w
	if buffers {
		win.files = testeditor.New(testeditor.Options{Root: w.dir, Poll: time.Second, Slow: func(string, string) time.Duration {
			w.mu.Lock()
			w.counts()
			w.mu.Unlock()
			return w.lag(100 * time.Millisecond)
		}})
	}
	for n, typed := range []string{"", "typed\n"} {
		f := &worldFile{path: filepath.Join(w.dir, fmt.Sprintf("window%d-%d.txt", win.n, n))}
		require.NoError(w.t, os.WriteFile(f.path, []byte("start\nend\n"), 0o644))
		info, err := os.Stat(f.path)
		require.NoError(w.t, err)
		w.clock.changed(info)
		if win.edited = append(win.edited, f); buffers {
			f.typed = typed
			require.NoError(w.t, win.files.Open(f.path))
			require.NoError(w.t, win.files.Type(f.path, func(now string) string { return typed + now }))
		}
	}
}

// hooks makes droid run this agent's hooks.
func (p *worldDroid) hooks() fakedroid.Hooks {
	return fakedroid.Hooks{
		Settings: func() []byte { p.w.mu.Lock(); defer p.w.mu.Unlock(); return []byte(p.settings) },
		Run: func(ctx context.Context, command string, stdin []byte) []byte {
			if !stream.IsOwnHook(command) {
				return nil
			}
			out := p.win.pipe.run(ctx, stdin)
			if p.w.mu.Lock(); p.edits != nil && bytes.Contains(out, []byte("could not be written")) {
				p.edits.gave = append(p.edits.gave, p.edit)
			}
			p.w.mu.Unlock()
			return out
		},
	}
}

var fileNumber = regexp.MustCompile(`\bf(\d)$`)

// edit has droid read a file and add a line to it.
func (p *worldDroid) changes(text string, of *request) error {
	f := p.win.edited[fileNumber.FindStringSubmatch(text)[1][0]-'0']
	if err := p.d.Use("", "", readOf(f.path)); err != nil {
		return err
	}
	p.w.mu.Lock()
	p.edits, p.edit = f, of.n
	f.edited++
	f.raced = f.raced || f.edited > 1 && p.win.files == nil
	p.w.mu.Unlock()
	defer func() { p.w.mu.Lock(); f.edited--; p.w.mu.Unlock() }()
	tool := editOf(f.path, "end\n", fmt.Sprintf("e%d\nend\n", of.n))
	if of.n%4 > 0 { // mostly nobody is asked, and more happens
		tool.Confirmation = ""
	}
	return p.d.Use("", "", tool)
}

// worked notes that droid tells of its edit.
func (p *worldDroid) worked(result string) {
	if p.edits != nil && strings.Contains(result, `"success":true`) {
		p.edits.worked = append(p.edits.worked, p.edit)
	}
}

var editedText = regexp.MustCompile(`^(typed\n)?start\n(?:e\d+\n)*end\n$`)

// lookAtFiles checks the files once nothing happens any more.
func (w *world) lookAtFiles() {
	for _, win := range w.wins {
		for _, f := range win.edited {
			if f.raced {
				continue
			}
			data, err := os.ReadFile(f.path)
			if err != nil {
				w.breaks("a file is gone: %v", err)
				continue
			}
			disk := string(data)
			w.isWhole(f, "disk", disk)
			for _, n := range f.worked {
				if !strings.Contains(disk, fmt.Sprintf("e%d\n", n)) && !slices.Contains(f.gave, n) {
					w.breaks("an edit is lost: e%d of %s, which has %q", n, f.path, disk)
				}
			}
			if win.files == nil {
				continue
			}
			buffer, _ := win.files.Buffer(f.path)
			w.isWhole(f, "editor", buffer)
			if !strings.HasPrefix(buffer, f.typed) {
				w.breaks("what the user has typed is lost: of %s, which has %q", f.path, buffer)
			}
			if unsaved := win.files.Dirty(f.path); buffer != disk && (!unsaved || !win.late && len(f.worked) > 0) {
				w.breaks("the editor shows another text: %q, and %s has %q", buffer, f.path, disk)
			}
		}
		for _, e := range win.errors.FilterMessageSnippet("panic").All() {
			w.breaks("%s: %v", e.Message, e.ContextMap())
		}
	}
}

// isWhole looks at a text of a file.
func (w *world) isWhole(f *worldFile, where, text string) {
	if !editedText.MatchString(text) {
		w.breaks("a file is not whole: %s in the %s has %q", f.path, where, text)
	}
	lines := strings.Fields(text)
	slices.Sort(lines)
	if len(slices.Compact(slices.Clone(lines))) < len(lines) {
		w.breaks("an edit is made twice: %s in the %s has %q", f.path, where, text)
	}
}

// nothingLeft checks that the agents have left nothing on the disk.
func (w *world) nothingLeft() {
	for _, win := range w.wins {
		if win.files != nil {
			win.files.Close()
		}
	}
	if left, _ := os.ReadDir(filepath.Join(filepath.Dir(w.dir), "journal")); len(left) > 0 {
		w.breaks("the journal has an edit: %v", left)
	}
	_ = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), "droid-acp") {
			w.breaks("a file is left: %s", path)
		}
		return nil
	})
}
