package editorfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.uber.org/zap"
)

// BeginEdit prepares an edit that droid has announced: afterwards the disk has the editor's text of each file. Unsaved changes are saved by
// writing them back. The files are locked for this call until PauseEdit, EndEdit or Drop. Calling it again for the same call starts over.
// Files that cannot pass through the editor are left alone.
//
// It waits at most 6 s for other edits of the files, then 3 s for reads and 3 s for saves: the editor is asked for all files at once. It
// returns the files whose unsaved changes were saved.
func (d *Overlay) BeginEdit(ctx context.Context, id string, paths []string) (saved []string) {
	c := d.begin(id)
	defer d.finish(c)
	defer d.recoverPanic("an edit could not be prepared")
	d.lock(ctx, c, paths)
	return c.eachFile(func(h *lockedFile) (saved string) {
		defer d.recoverPanic("an edit could not be prepared")
		if h.release == nil {
			h.old, _ = d.files.readAny(h.resolved)
			return ""
		}
		wrote, err := d.prepare(ctx, h)
		h.direct = ""
		if err != nil {
			h.direct = err.Error()
			d.files.log.Info("an edit does not pass through the editor", zap.String("path", h.path), zap.Error(err))
		}
		if wrote {
			return h.path
		}
		return ""
	})
}

// lock locks the files of a call, always in the same order.
func (d *Overlay) lock(ctx context.Context, c *editCall, paths []string) {
	ctx, cancel := context.WithTimeout(ctx, 2*d.files.wait)
	defer cancel()
	var found []location
	for _, path := range paths {
		at, err := resolve(path)
		if err != nil {
			d.debug("an edit does not pass through the editor", location{path: path}, err)
			continue
		}
		found = append(found, at)
	}
	slices.SortStableFunc(found, func(a, b location) int { return strings.Compare(a.resolved, b.resolved) })
	found = slices.CompactFunc(found, func(a, b location) bool { return a.resolved == b.resolved })
	for _, at := range found {
		d.files.replayFor(at.resolved)
		release, err := d.files.lock(ctx, at.resolved)
		if err != nil {
			d.files.log.Info("an edit does not pass through the editor: it cannot be held", zap.String("path", at.path), zap.Error(err))
		}
		c.files = append(c.files, &lockedFile{location: at, overlay: d, release: release, paused: c.times[at.resolved], direct: "it was not looked at"})
	}
}

var (
	errBypassed = errors.New("the editor has written it beside its buffer before")
	errStale    = errors.New("the editor's text of it is out of date, or in conflict with the disk")
	errPending  = errors.New("the editor has not answered an earlier write of it")
	errSaved    = errors.New("the editor has saved something else than it says")
)

// prepare makes the disk and the editor agree on a file's text, the old text of the edit. saved reports whether the editor had unsaved
// changes and was asked to save them.
func (d *Overlay) prepare(ctx context.Context, h *lockedFile) (saved bool, err error) {
	if d.files.lateAt(h.resolved) != nil {
		return false, errPending
	}
	at, err := resolve(h.path) // it may have changed before the file was locked
	if err != nil {
		return false, err
	}
	if at.resolved != h.resolved {
		return false, errBusy
	}
	h.location = at
	if !d.trusts(h.resolved) {
		return false, errBypassed
	}
	if !h.exists {
		return false, nil
	}
	reading, cancel := context.WithTimeout(ctx, d.files.wait)
	defer cancel()
	c, buffer, v, err := d.compare(reading, h.location)
	switch {
	case errors.Is(err, errLate):
		d.markSilent(reading)
		return false, err
	case err != nil:
		return false, err
	case v == verdictDisk:
		return false, errStale
	case v == verdictUnsaved:
		if c, err = d.save(ctx, h, c, buffer); err != nil {
			return errors.Is(err, errSaved), err
		}
	}
	h.old, h.came = c, c.changed
	d.putKnownTime(h)
	return v == verdictUnsaved, nil
}

// save makes the editor save a file's unsaved text, and returns what is on disk afterwards.
func (d *Overlay) save(ctx context.Context, h *lockedFile, before *content, buffer string) (*content, error) {
	ctx, cancel := context.WithTimeout(ctx, d.files.wait)
	defer cancel()
	d.files.step(stepSave)
	answered, err := d.writeEditor(ctx, h.path, buffer)
	if errors.Is(err, errLate) {
		d.awaitLate(h.location, answered, &lateWrite{text: before.text, base: before.text, saves: true})
	}
	if err != nil {
		return nil, fmt.Errorf("saving it: %w", err)
	}
	now, err := d.files.readSuitable(h.resolved)
	if err != nil {
		return nil, err
	}
	if buffer, err = d.readEditor(ctx, h.path); err != nil { // it may have been formatted, not saved, or edited since
		return nil, err
	}
	if !sameText(now.text, buffer) {
		return nil, errSaved
	}
	now = d.files.putAttributes(h.resolved, now, mode(before.info), now.info.ModTime())
	d.files.noteDisk(h.resolved, now, true)
	return now, nil
}

// putKnownTime restores the mtime that droid knows if droid has written or seen exactly the text on disk, or if the file changed only while
// the user was asked (PauseEdit): droid does not edit a file that has changed since it was read (0.99 to 0.225).
func (d *Overlay) putKnownTime(h *lockedFile) {
	d.mu.Lock()
	k := d.known[h.resolved]
	d.mu.Unlock()
	trueTime, found := h.old.info.ModTime(), h.paused
	if k.hasText && k.text == d.files.exact(h.old.text) {
		found = k.mtime
	}
	if found.IsZero() || trueTime.Equal(found) {
		return
	}
	h.old = d.files.putAttributes(h.resolved, h.old, mode(h.old.info), found)
	h.saved, h.trueTime = h.old, trueTime
	d.files.noteDisk(h.resolved, h.old, true)
}

// recoverPanic logs a panic.
func (d *Overlay) recoverPanic(what string) {
	if r := recover(); r != nil {
		d.files.log.Error(what, zap.Any("panic", r), zap.Stack("stack"))
	}
}

// resolvesTo checks that a path still leads to the same file.
func (h *lockedFile) resolvesTo() error {
	at, err := resolve(h.path)
	if err == nil && (at.resolved != h.resolved || !at.exists) {
		err = os.ErrNotExist
	}
	return err
}
