package editorfs

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/text/udiff"
)

// maxTries is how often a text is put back that late writes spoil.
const maxTries = 3

// lateSave is how long before its answer a late write may have saved the file.
const lateSave = time.Second

// late is a write that the editor has not answered in time. It may still arrive, in a
// buffer that has been reloaded since, and then the edit is there twice. As long as it is
// open no edit of the file passes through the editor.
type late struct {
	text  string // what the disk has to have when it is answered
	base  string // what it had before
	sent  string // what the editor was told to write
	wrote bool   // droid has written that text, rather than found it
	saved bool   // somebody has saved it, and droid's edit gave way
	tries int    // how many late writes came before, to mend what one had done
	saves bool   // what the user has typed was to be saved
}

// awaitLate waits for the answer to a write beside the caller. If the file is then
// what the late write made of it, and droid has written another text, that is put there again.
func (d *Overlay) awaitLate(at location, answered <-chan error, l *late) {
	f := d.files
	f.mu.Lock()
	p := f.place(at.resolved)
	p.late = l
	f.mu.Unlock()
	f.work.Go(func() {
		defer d.survive("a late answer of the editor could not be dealt with")
		defer func() {
			f.mu.Lock()
			if p.late == l { // else the mending is late, too
				p.late = nil
			}
			f.mu.Unlock()
		}()
		var refused error
		select {
		case refused = <-answered:
		case <-f.ctx.Done():
			return
		}
		now := time.Now()
		release, err := f.lock(f.ctx, at.resolved)
		if err != nil {
			f.log.Warn("an edit is in the way of an answer of the editor that came late", zap.String("path", at.path), zap.Error(err))
			return
		}
		defer release()
		d.mendLate(at, l, now, refused)
	})
}

// mendLate looks whether a late write, answered at this time, has spoiled the file, and
// mends that. What the user has saved meanwhile stays: droid's edit is made in it, or, where the two meet,
// the user is told. There what was saved in the same second cannot be told from what the editor made of droid's text,
// which is written again. The file is held.
func (d *Overlay) mendLate(at location, l *late, answered time.Time, refused error) {
	f := d.files
	f.mu.Lock()
	text, wrote, saved := l.text, l.wrote, l.saved
	f.mu.Unlock()
	if !wrote || l.tries >= maxTries {
		return
	}
	c, err := f.peek(at.resolved)
	if err != nil {
		f.log.Error("a write that the editor has answered late may have spoiled a file, which cannot be read", zap.String("path", at.path), zap.Error(err))
		return
	}
	if c.text == text {
		return
	}
	if c.changed.Before(answered.Add(-lateSave)) || c.changed.After(answered.Add(lateSave)) {
		f.log.Info("a write that the editor has answered late is not what is on disk", zap.String("path", at.path))
		return
	}
	torn := !l.saves && partOf(text, c.text) // a write that failed halfway
	both, apart := udiff.Merge(l.base, c.text, text)
	switch {
	case torn:
	case apart && both == c.text:
		return
	case apart:
		text = both
	case l.saves, refused != nil:
		d.gaveWay(at)
		return
	}
	f.log.Warn("the editor has done a write late; the file gets its text again", zap.String("path", at.path))
	_, has, err := readable([]byte(text))
	if err != nil {
		return
	}
	written := *c
	written.text, written.ends = text, has
	e := &edit{Overlay: d, lockedFile: &lockedFile{location: at, overlay: d, old: c, came: c.changed}, n: &written, step: f.step, tries: l.tries + 1, begun: true}
	ours := plain(c.text) == plain(l.sent) || saved && madeOf(c.text, text, l.sent) // the edit, or the edit in what was saved
	if torn || !apart && !ours && !perhapsTwice(l.base, text, c.text) {
		e.over = c.text
	}
	_, _ = e.carryOut(f.ctx, func(ctx context.Context) (*content, error) { // it logs what is wrong
		ctx, cancel := context.WithTimeout(ctx, f.wait)
		defer cancel()
		return e.writeOver(ctx, c.text)
	})
}

// gaveWay tells the user that droid's edit of a file may have given way to what was saved.
func (d *Overlay) gaveWay(at location) {
	d.tell("While an edit of droid's was on its way to %s, the same lines were changed and saved. That stays, and the edit may be "+
		"missing: look at the file, and ask droid to make it again.", at)
}

// tell notes what the user is to be told of a file.
func (d *Overlay) tell(text string, at location) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.untold = append(d.untold, fmt.Sprintf(text, at.path))
}
