package editorfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"
)

// kept is an entry that could not be mended: the only place with the new text. It is retried when droid reads or edits the file, when this
// agent ends, and when the next one starts.
type kept struct {
	path     string // of the entry
	file     string // the edited file, as given by droid; "" if the entry cannot be read
	resolved string
	reason   error
	told     bool // the user was notified, or need not be
}

// unmendedID returns the ID of an entry, whatever suffixes its name has.
func unmendedID(path string) string {
	id, _, _ := strings.Cut(filepath.Base(path), ".")
	return id
}

// stays records that an entry cannot be mended now.
func (f *Files) stays(path string, e entry, reason error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.left[unmendedID(path)]
	if k == nil {
		k = &kept{file: e.Path, resolved: e.Resolved, told: e.Done || strings.Contains(filepath.Base(path), toldEnd)}
		f.left[unmendedID(path)] = k
	}
	known := k.reason != nil && k.reason.Error() == reason.Error()
	k.path, k.reason = path, reason
	if known {
		return
	}
	f.log.Error("an edit that was interrupted cannot be completed; it stays in the journal and is tried again",
		zap.String("path", e.Path), zap.String("entry", path), zap.Error(reason))
}

// isMended records that an entry is no longer needed.
func (f *Files) isMended(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.left, unmendedID(path))
}

// mendFor retries the unmended entries of a file, and reports whether there were any. The file must not be locked.
func (f *Files) mendFor(resolved string) bool {
	f.mu.Lock()
	var paths []string
	for _, k := range f.left {
		if k.resolved == resolved {
			paths = append(paths, k.path)
		}
	}
	f.mu.Unlock()
	for _, path := range paths {
		f.mendOne(path)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) { // or another agent has mended it
			f.isMended(path)
		}
	}
	return len(paths) > 0
}

// Untold returns messages for the user about edits that could not be completed: which file, why, what happens next and where the text is.
// Each edit is reported once, even across restarts. It blocks.
func (f *Files) Untold() (texts []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(f.left)) {
		k := f.left[id]
		if k.told || k.file == "" || errors.Is(k.reason, errYoung) || errors.Is(k.reason, context.DeadlineExceeded) {
			continue
		}
		k.told = true
		err := os.Rename(k.path, k.path+toldEnd)
		if errors.Is(err, fs.ErrNotExist) { // another agent has mended or reported it
			delete(f.left, id)
			continue
		}
		if err == nil {
			k.path += toldEnd
		}
		texts = append(texts, fmt.Sprintf("An edit of %s was interrupted and could not be completed: %v. The file may still have the text from before it. "+
			"droid-acp tries again when droid reads or edits the file and each time it starts. The new text is in %s, from its second line on; "+
			"delete that file if you do not need it.", k.file, k.reason, k.path))
	}
	return texts
}
