package editorfs

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
)

// isSilent reports whether the editor is not asked for reads: it did not answer the last in time.
func (d *Overlay) isSilent() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed || time.Now().Before(d.silent)
}

// wasSilent notes that the editor has not answered until ctx was over, if that was for the time.
func (d *Overlay) wasSilent(ctx context.Context) {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.silent = time.Now().Add(silence)
}

// distrust is for an editor that did not have a file's text after it had written it: it
// writes beside its buffer, which is out of date or has unsaved text. What it says of
// the file is not the user's last word, so for the rest of the session it is not asked.
func (d *Overlay) distrust(at location) {
	d.files.log.Info("the editor does not have the text that it has written; the file is read and written on the disk alone from now on", zap.String("path", at.path))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stale[at.resolved] = true
}

// trusts reports whether the editor is asked about a file.
func (d *Overlay) trusts(resolved string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.stale[resolved]
}
