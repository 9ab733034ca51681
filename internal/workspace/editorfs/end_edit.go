package editorfs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"
)

// EndEdit delivers what droid has written to the files of a call to the editor, as an edit of the agent. When it returns, each file has
// droid's text, or what the editor made of it on saving, or what someone else has saved in the meantime, merged with droid's edit if they
// do not overlap; note then says so to droid, one line per file. It waits at most 6 s, for all files at once, and not at all once ctx is
// done. Without a BeginEdit for the same call it does nothing.
func (d *Overlay) EndEdit(ctx context.Context, id string) (note string) {
	d.mu.Lock()
	c := d.calls[id]
	if c == nil || c.busy {
		if c != nil { // Before has not returned, and droid did not wait for it
			delete(d.calls, id)
			c.end()
		}
		d.mu.Unlock()
		return ""
	}
	delete(d.calls, id)
	c.busy, c.ended = true, true
	d.mu.Unlock()
	defer d.finish(c)
	notes := c.eachFile(func(h *lockedFile) string { return d.deliver(ctx, h) })
	return strings.Join(notes, "\n")
}

// warnMissed records that droid's edit of a file could not pass through the editor for a reason on this side, such as disk space or
// permissions. An editor that does not notice changes on disk still has the old text.
func (d *Overlay) warnMissed(path string, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.warned[path] {
		return
	}
	d.warned[path] = true
	d.warnings = append(d.warnings, fmt.Sprintf("droid's edit of %s is on the disk, and could not pass through your editor: %v. "+
		"Where your editor still shows the text from before, reload the file there. Mend the cause, and the next edit passes again.", path, why))
}

// PendingWarnings returns messages for the user about edits that could not pass through the editor, or that conflicted with what someone
// saved in the meantime. Each is returned once.
func (d *Overlay) PendingWarnings() (texts []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	texts, d.warnings = d.warnings, nil
	return texts
}

// deliver delivers one file to the editor.
func (d *Overlay) deliver(ctx context.Context, h *lockedFile) (note string) {
	defer d.recoverPanic("an edit could not be completed")
	if h.resolvesTo() != nil {
		return "" // droid has written nothing, or to another file
	}
	n, err := d.files.readSuitable(h.resolved)
	if n == nil { // no longer suitable for the editor, or unreadable
		if n, perr := d.files.readAny(h.resolved); perr == nil && (h.old == nil || n.text != h.old.text) {
			d.files.noteDroidsText(h.resolved, n)
		}
		d.files.log.Info("an edit does not pass through the editor", zap.String("path", h.path), zap.Error(err))
		return ""
	}
	if h.release == nil && d.files.wasDelivered(h.resolved, n.text) {
		return unwritten(h.path, errHeld)
	}
	if h.old != nil && n.text == h.old.text && err == nil {
		d.rewritten(h, n)
		return ""
	}
	h.saved = nil // the mtime is from droid's write
	d.noteWritten(h.resolved, n.info.ModTime(), n.text)
	d.files.noteDisk(h.resolved, n, false)
	switch {
	case err != nil:
	case h.release == nil:
		return d.deliverUnlocked(ctx, h, n)
	case h.direct != "":
	case h.old != nil && !endsFit(h.old.ends, n.ends):
		err = errEnds
	case d.files.lateAt(h.resolved) != nil:
		err = errPending
	case ctx.Err() != nil:
		err = ctx.Err()
	default:
		e := &edit{Overlay: d, lockedFile: h, n: n, step: d.files.step}
		return e.run(ctx, e.viaEditor)
	}
	if err != nil {
		d.files.log.Info("an edit does not pass through the editor", zap.String("path", h.path), zap.Error(err))
	}
	d.files.noteDroidsText(h.resolved, n)
	return ""
}

// deliverUnlocked delivers a file that could not be locked: another edit may overwrite what droid has written. When that one is done, the
// disk has both, or one of them is dropped. If it has overwritten droid's text already, the text on disk is not mistaken for droid's. An
// overwrite by another agent or a command is not noticed.
func (d *Overlay) deliverUnlocked(ctx context.Context, h *lockedFile, n *content) (note string) {
	d.files.noteDroidsText(h.resolved, n)
	ctx, cancel := context.WithTimeout(ctx, 2*d.files.wait)
	defer cancel()
	var err error
	h.release, err = d.files.lock(ctx, h.resolved)
	now, lost := d.files.readAny(h.resolved)
	switch {
	case d.files.wasDelivered(h.resolved, n.text): // as saved by the editor
		d.updateKnown(h.resolved, func(k *droidFile) { *k = droidFile{} })
		return unwritten(h.path, errHeld)
	case lost == nil && now.text == n.text:
		return ""
	case err != nil:
		return unwritten(h.path, errHeld)
	}
	e := &edit{Overlay: d, lockedFile: h, n: n, step: d.files.step, begun: true}
	return e.run(ctx, func(context.Context) (*content, error) { return nil, errHeld })
}

// unwritten returns the note to droid that its text is not on disk.
func unwritten(path string, why error) string {
	return fmt.Sprintf("%s could not be written: %v. Your change may be missing from it.", path, why)
}

// noteWritten records what droid has written.
func (d *Overlay) noteWritten(resolved string, mtime time.Time, text string) {
	d.updateKnown(resolved, func(k *droidFile) { *k = droidFile{mtime: mtime, text: d.files.exact(text), hasText: d.o.KeepTimes} })
}

// rewritten handles a file that has the text from before the edit, which droid may have written again. It restores the mtime for an editor
// that checks it.
func (d *Overlay) rewritten(h *lockedFile, n *content) {
	if h.old == nil || n.info.ModTime().Equal(h.old.info.ModTime()) {
		return
	}
	d.noteWritten(h.resolved, n.info.ModTime(), n.text)
	if d.o.KeepTimes && h.direct == "" {
		h.saved = nil
		d.files.noteDisk(h.resolved, d.files.putAttributes(h.resolved, n, mode(n.info), h.mtime()), true)
	}
}

// noteOf returns the note to droid about what the editor made of its text.
func noteOf(path, written, saved string) string {
	return fmt.Sprintf("The editor changed %s when it saved it (for example by formatting it): %s from what you wrote.", path, differ(written, saved))
}

// differ states how many lines differ.
func differ(written, saved string) string {
	if n := linesThatDiffer(written, saved); n != 1 {
		return fmt.Sprintf("%d lines differ", n)
	}
	return "1 line differs"
}

// errHeld means that another edit of the file was in progress.
var errHeld = errors.New("another edit of it has taken too long")

// errMoved means that the file is not as droid left it.
var errMoved = errors.New("somebody else has changed it")
