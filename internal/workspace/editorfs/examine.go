package editorfs

import (
	"context"
	"time"

	"droid-acp/internal/sys/child"
)

// catchUp is how long an editor that has written a file may have its old text: one that writes
// beside its buffer reloads it.
const catchUp = time.Second

// finding is what the editor has made of a write.
type finding string

const (
	fine   finding = ""       // what is on disk is right
	twice  finding = "twice"  // it could be droid's edit done twice, or in another text than the old one: a second write tells
	undone finding = "undone" // the disk is right, the buffer has the old text
)

// examine looks at what is on disk after a write with this outcome, and at the
// editor's text. It is fine if the disk has droid's text, or what the buffer has.
func (e *edit) examine(ctx context.Context, outcome error) (saved *content, found finding, err error) {
	now, err := e.files.look(e.resolved)
	if now != nil && outcome == nil { // what the editor made of droid's text, which comes over it where it does not count
		e.base = now.text
		switch {
		case e.over != "", now.text == e.oldText(), plain(now.text) == plain(e.n.text):
		case !perhapsTwice(e.oldText(), e.n.text, now.text):
			e.over = now.text
		}
	}
	switch {
	case err == nil && now.text == e.n.text:
		return now, e.readBack(ctx), e.linked()
	case outcome != nil:
		return nil, fine, outcome
	case err != nil:
		return nil, fine, err
	case !fits(e.n.ends, now.ends):
		return nil, fine, errEnds
	case now.text == e.oldText(), now.text == "": // a reload has undone the edit, or nothing was written
		return nil, fine, errMoved
	}
	buffer, err := e.readEditor(ctx, e.path)
	if err != nil {
		return nil, fine, err
	}
	if !alike(now.text, buffer) {
		if alike(e.oldText(), buffer) {
			e.distrust(e.location)
		}
		return nil, fine, errSaved
	}
	e.agreed = true
	if perhapsTwice(e.oldText(), e.n.text, now.text) || e.soon() {
		found = twice
	}
	return now, found, e.linked()
}

// soon reports whether the file had changed so shortly before the edit that the editor may have been about to reload a
// text from before the old one. A write that meets such a reload is made in that text: lines of it are on the disk then.
func (e *edit) soon() bool { return !e.came.IsZero() && e.n.changed.Sub(e.came) < reloadTime }

// readBack reads the editor after a write that has put droid's text on disk. Where it cannot say
// what it has, agreed stays false.
func (e *edit) readBack(ctx context.Context) finding {
	e.agreed = false
	buffer, err := e.readEditor(ctx, e.path)
	switch {
	case err != nil, buffer == "" && e.n.text != "":
	case alike(e.n.text, buffer):
		e.agreed = true
	case e.old != nil && alike(e.oldText(), buffer):
		e.readText = buffer
		return undone
	default:
		e.distrust(e.location)
	}
	return fine
}

// onceMore is for a buffer with the old text behind a write. Its reload may have landed
// late: then a second write makes it the agent's edit. It is done at once, before the new text
// is reloaded; if that comes in between, the edit is found twice. Or the editor writes beside
// its buffer, and may be about to reload that.
func (e *edit) onceMore(ctx context.Context) (*content, finding, error) {
	err := e.write(ctx, e.readText)
	saved, found, err := e.examine(ctx, err)
	if err != nil || found != undone {
		return saved, found, err
	}
	waiting, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	for found == undone && child.Pause(waiting, pollEvery) {
		found = e.readBack(ctx)
	}
	if found == undone {
		e.distrust(e.location)
	}
	return saved, fine, nil
}
