package editorfs

import (
	"context"
	"errors"
	"os"
	"time"

	"droid-acp/internal/sys/files"
)

// Read returns what a call of droid must read instead of the file: "" for the file on disk, or a private file with the unsaved text, which
// exists until Drop. Nothing is saved. It waits at most 3 s; then the disk is valid. An error means that an unsaved text cannot be
// provided.
func (d *Overlay) Read(ctx context.Context, id, path string) (private string, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.files.wait)
	defer cancel()
	at, err := resolve(path)
	if err == nil && d.files.replayFor(at.resolved) {
		at, err = resolve(path)
	}
	if err != nil || !at.exists {
		return "", nil
	}
	c, buffer, v, _ := d.unsaved(ctx, at)
	if v != verdictUnsaved {
		if info, err := os.Lstat(at.resolved); err == nil {
			d.updateKnown(at.resolved, func(k *droidFile) { *k = droidFile{mtime: info.ModTime()} })
		}
		return "", nil
	}
	text := withEnds(plain(buffer), c.ends)
	if private, err = d.privateFile(id, text); err != nil {
		return "", err
	}
	d.updateKnown(at.resolved, func(k *droidFile) {
		k.text, k.hasText = d.files.exact(text), true
		if k.mtime == (time.Time{}) {
			k.mtime = c.info.ModTime()
		}
	})
	return private, nil
}

// Unsaved returns the unsaved text that the editor has of a file, nil if there is none. known is false if that is uncertain: the editor did
// not answer within 3 s, or its text may be out of date. Nothing is saved.
func (d *Overlay) Unsaved(ctx context.Context, path string) (text *string, known bool) {
	ctx, cancel := context.WithTimeout(ctx, d.files.wait)
	defer cancel()
	at, err := resolve(path)
	if err != nil || !at.exists {
		return nil, true // Before would save nothing
	}
	c, buffer, v, err := d.unsaved(ctx, at)
	switch {
	case v == verdictUnsaved:
		return new(withEnds(plain(buffer), c.ends)), true
	case v == verdictEqual:
		return nil, true
	}
	return nil, c != nil && err != nil && !errors.Is(err, errLate) // the editor does not have the file
}

// unsaved asks the editor about a file once no edit of it is being delivered.
func (d *Overlay) unsaved(ctx context.Context, at location) (*content, string, verdict, error) {
	d.files.AwaitDelivery(ctx, []string{at.path})
	if d.o.KeepTimes { // during an edit its mtime may differ from the one that the editor knows
		leave, err := d.files.lockLocal(ctx, at.resolved)
		if err != nil {
			return nil, "", verdictDisk, err
		}
		defer leave()
	}
	if ctx.Err() != nil || d.files.lateAt(at.resolved) != nil || d.isSilent() || !d.trusts(at.resolved) {
		return nil, "", verdictDisk, nil
	}
	c, buffer, v, err := d.compare(ctx, at)
	if errors.Is(err, errLate) {
		d.markSilent(ctx)
	}
	if err != nil {
		d.debug("the editor cannot say what is unsaved", at, err)
	}
	return c, buffer, v, err
}

// privateFile creates a private file for a call, until Drop.
func (d *Overlay) privateFile(id, text string) (path string, err error) {
	file, err := files.NewPrivateFile("unsaved", []byte(text))
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		file.Close()
		return "", context.Canceled
	}
	d.privateFiles[id] = append(d.privateFiles[id], file)
	return file.Path, nil
}
