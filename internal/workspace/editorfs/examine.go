package editorfs

import (
	"context"
	"time"

	"droid-acp/internal/sys/subprocess"
)

// catchUp is how long an editor that has written a file may still have its old text: one that bypasses its buffer reloads it.
const catchUp = time.Second

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
		return nil, "", outcome
	case err != nil:
		return nil, "", err
	case !endsFit(e.n.ends, now.ends):
		return nil, "", errEnds
	case now.text == e.oldText(), now.text == "": // a reload has undone the edit, or nothing was written
		return nil, "", errMoved
	}
	buffer, err := e.readEditor(ctx, e.path)
	if err != nil {
		return nil, "", err
	}
	if found = e.judgeWrite(now.text, buffer); found == findingOld || found == findingOther {
		return nil, found, errSaved
	}
	return now, found, e.linked()
}

// judgeWrite judges a write that has put this text on disk, and records what follows from that for the file.
func (e *edit) judgeWrite(disk, buffer string) finding {
	found := judgeWrite(e.oldText(), e.n.text, disk, buffer, e.mayReload())
	e.agreed = found == findingAgreed || found == findingTwice
	if found == findingBypassed || found == findingOld {
		e.distrust(e.location)
	}
	return found
}

// mayReload reports whether the file had changed so shortly before the edit that the editor may have been about to reload an even older
// text. A write that coincides with such a reload is applied to that text, whose lines then appear on disk.
func (e *edit) mayReload() bool { return !e.came.IsZero() && e.n.changed.Sub(e.came) < reloadTime }

// readBack reads the editor after a write that has put droid's text on disk. agreed stays false if the editor cannot return its text.
func (e *edit) readBack(ctx context.Context) finding {
	buffer, err := e.readEditor(ctx, e.path)
	if err != nil {
		e.agreed = false
		return findingUnseen
	}
	e.readText = buffer
	return e.judgeWrite(e.n.text, buffer)
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
	return saved, found, nil
}
