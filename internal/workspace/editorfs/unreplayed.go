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

// unreplayedEntry is an entry that could not be replayed: the only place with the new text. It is retried when droid reads or edits the
// file, when this agent ends, and when the next one starts.
type unreplayedEntry struct {
	path     string // of the entry
	file     string // the edited file, as given by droid; "" if the entry cannot be read
	resolved string
	reason   error
	warned   bool // the user was notified, or need not be
}

// entryID returns the ID of an entry, whatever suffixes its name has.
func entryID(path string) string {
	id, _, _ := strings.Cut(filepath.Base(path), ".")
	return id
}

// keepUnreplayed records that an entry cannot be replayed now.
func (f *Files) keepUnreplayed(path string, e entry, reason error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.unreplayed[entryID(path)]
	if k == nil {
		k = &unreplayedEntry{file: e.Path, resolved: e.Resolved, warned: e.Done || strings.Contains(filepath.Base(path), warnedEnd)}
		f.unreplayed[entryID(path)] = k
	}
	known := k.reason != nil && k.reason.Error() == reason.Error()
	k.path, k.reason = path, reason
	if known {
		return
	}
	f.log.Error("an edit that was interrupted cannot be completed; it stays in the journal and is tried again",
		zap.String("path", e.Path), zap.String("entry", path), zap.Error(reason))
}

// markReplayed records that an entry is no longer needed.
func (f *Files) markReplayed(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.unreplayed, entryID(path))
}

// replayFor retries the unreplayed entries of a file, and reports whether there were any. The file must not be locked.
func (f *Files) replayFor(resolved string) bool {
	f.mu.Lock()
	var paths []string
	for _, k := range f.unreplayed {
		if k.resolved == resolved {
			paths = append(paths, k.path)
		}
	}
	f.mu.Unlock()
	for _, path := range paths {
		f.replayEntry(path)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) { // or another agent has replayed it
			f.markReplayed(path)
		}
	}
	return len(paths) > 0
}

// ReplayWarnings returns messages for the user about edits that could not be completed: which file, why, what happens next and where the
// text is. Each edit is reported once, even across restarts. It blocks.
func (f *Files) ReplayWarnings() (texts []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(f.unreplayed)) {
		k := f.unreplayed[id]
		if k.warned || k.file == "" || errors.Is(k.reason, errMayBeActive) || errors.Is(k.reason, context.DeadlineExceeded) {
			continue
		}
		k.warned = true
		err := os.Rename(k.path, k.path+warnedEnd)
		if errors.Is(err, fs.ErrNotExist) { // another agent has replayed or reported it
			delete(f.unreplayed, id)
			continue
		}
		if err == nil {
			k.path += warnedEnd
		}
		texts = append(texts, fmt.Sprintf("An edit of %s was interrupted and could not be completed: %v. The file may still have the text from before it. "+
			"droid-acp tries again when droid reads or edits the file and each time it starts. The new text is in %s, from its second line on; "+
			"delete that file if you do not need it.", k.file, k.reason, k.path))
	}
	return texts
}
