package editorfs

import (
	"context"
	"time"

	"droid-acp/internal/sys/subprocess"
)

// catchUp is how long an editor that has written a file may still have its old text: one that bypasses its buffer reloads it.
const catchUp = time.Second

// finding is the result of a write by the editor.
type finding string

const (
	findingOK     finding = ""       // the text on disk is right
	findingTwice  finding = "twice"  // possibly droid's edit applied twice, or to another text than the old one: a second write shows which
	findingUndone finding = "undone" // the disk is right, but the buffer has the old text
)

// examine compares the disk and the editor's text after a write with this outcome. It is fine if the disk has droid's text, or the same as
// the buffer.
func (e *edit) examine(ctx context.Context, outcome error) (saved *content, found finding, err error) {
	now, err := e.files.readSuitable(e.resolved)
	if now != nil && outcome == nil { // what the editor made of droid's text; overwritten if it is not accepted
		e.base = now.text
		switch {
		case e.overwritten != "", now.text == e.oldText(), plain(now.text) == plain(e.n.text):
		case !maybeTwice(e.oldText(), e.n.text, now.text):
			e.overwritten = now.text
		}
	}
	switch {
	case err == nil && now.text == e.n.text:
		return now, e.readBack(ctx), e.linked()
	case outcome != nil:
		return nil, findingOK, outcome
	case err != nil:
		return nil, findingOK, err
	case !endsFit(e.n.ends, now.ends):
		return nil, findingOK, errEnds
	case now.text == e.oldText(), now.text == "": // a reload has undone the edit, or nothing was written
		return nil, findingOK, errMoved
	}
	buffer, err := e.readEditor(ctx, e.path)
	if err != nil {
		return nil, findingOK, err
	}
	if !sameText(now.text, buffer) {
		if sameText(e.oldText(), buffer) {
			e.distrust(e.location)
		}
		return nil, findingOK, errSaved
	}
	e.agreed = true
	if maybeTwice(e.oldText(), e.n.text, now.text) || e.mayReload() {
		found = findingTwice
	}
	return now, found, e.linked()
}

// mayReload reports whether the file had changed so shortly before the edit that the editor may have been about to reload an even older
// text. A write that coincides with such a reload is applied to that text, whose lines then appear on disk.
func (e *edit) mayReload() bool { return !e.came.IsZero() && e.n.changed.Sub(e.came) < reloadTime }

// readBack reads the editor after a write that has put droid's text on disk. agreed stays false if the editor cannot return its text.
func (e *edit) readBack(ctx context.Context) finding {
	e.agreed = false
	buffer, err := e.readEditor(ctx, e.path)
	switch {
	case err != nil, buffer == "" && e.n.text != "":
	case sameText(e.n.text, buffer):
		e.agreed = true
	case e.old != nil && sameText(e.oldText(), buffer):
		e.readText = buffer
		return findingUndone
	default:
		e.distrust(e.location)
	}
	return findingOK
}

// onceMore handles a buffer that has the old text after a write. If it was reloaded late, a second write makes the edit the agent's; it is
// done at once, before the new text is reloaded, else the edit is found twice. Otherwise the editor bypasses its buffer, and may be about
// to reload it.
func (e *edit) onceMore(ctx context.Context) (*content, finding, error) {
	err := e.write(ctx, e.readText)
	saved, found, err := e.examine(ctx, err)
	if err != nil || found != findingUndone {
		return saved, found, err
	}
	waiting, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	for found == findingUndone && subprocess.Sleep(waiting, pollEvery) {
		found = e.readBack(ctx)
	}
	if found == findingUndone {
		e.distrust(e.location)
	}
	return saved, findingOK, nil
}
