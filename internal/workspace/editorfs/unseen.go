package editorfs

import (
	"context"
	"io/fs"
	"os"
	"time"

	"droid-acp/internal/sys/files"
)

const (
	maxUnseen  = 1 << 20         // bytes of a file of which the editor is asked what is unsaved
	unseenTime = 2 * time.Second // for the editor's answer
	settled    = 5 * time.Second // after a change, in which an editor may still have to reload the file
)

// Unseen reports whether the editor has text of a file that the disk has not, where files are read and written
// on the disk: whoever reads the file there does not see it. It is false wherever that is not certain: no answer in 2 s or
// an error, a file that changed in the last 5 s or meanwhile, is not plain text or larger than 1 MiB. changed is as in
// Options.
func Unseen(ctx context.Context, editor Editor, path string, changed func(fs.FileInfo) time.Time) bool {
	if changed == nil {
		changed = lastChange
	}
	before, err := os.Stat(path)
	if err != nil || !before.Mode().IsRegular() || before.Size() == 0 || before.Size() > maxUnseen || time.Since(changed(before)) < settled {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, unseenTime)
	defer cancel()
	buffer, err := readText(ctx, editor, path)
	if err != nil || buffer == "" { // some have "" for what they cannot read
		return false
	}
	data, err := files.Read(path, maxUnseen)
	if err != nil {
		return false
	}
	disk, _, err := readable(data)
	after, statErr := os.Stat(path)
	c := content{info: before, changed: changed(before)}
	return err == nil && statErr == nil && c.same(after, changed(after)) && !alike(disk, buffer)
}
