package editorfs

import (
	"context"
	"io/fs"
	"os"
	"time"

	"droid-acp/internal/sys/files"
)

const (
	maxUnsavedSize = 1 << 20         // maximum file size in bytes for which the editor is asked
	unsavedTime    = 2 * time.Second // for the editor's response
	settled        = 5 * time.Second // after a change, during which an editor may still reload the file
)

// HasUnsaved reports whether the editor has unsaved text of a file that is read and written on disk, where it is not seen. It returns false if
// that is uncertain: on errors, without a response within 2 s, and for a file that changed within the last 5 s or during the check, is not
// plain text or is larger than 1 MiB. changed is as in Options.
func HasUnsaved(ctx context.Context, editor ACPClient, path string, changed func(fs.FileInfo) time.Time) bool {
	if changed == nil {
		changed = lastChange
	}
	before, err := os.Stat(path)
	if err != nil || !before.Mode().IsRegular() || before.Size() == 0 || before.Size() > maxUnsavedSize || time.Since(changed(before)) < settled {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, unsavedTime)
	defer cancel()
	buffer, err := readText(ctx, editor, path)
	if err != nil || buffer == "" { // some clients return "" for unreadable files
		return false
	}
	data, err := files.Read(path, maxUnsavedSize)
	if err != nil {
		return false
	}
	disk, _, err := readable(data)
	after, statErr := os.Stat(path)
	c := content{info: before, changed: changed(before)}
	return err == nil && statErr == nil && c.same(after, changed(after)) && !sameText(disk, buffer)
}
