package editorfs

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// maxTries is how often a text spoiled by late writes is restored.
const maxTries = 3

// lateSave is how long before its response a late write may have saved the file.
const lateSave = time.Second

// lateWrite is a write that the editor has not answered in time. It may still be applied, to a buffer that has been reloaded since, and
// then the edit is there twice. Until it is answered no edit of the file passes through the editor.
type lateWrite struct {
	text  string // what the disk must have when it is answered
	base  string // what it had before
	sent  string // what the editor was asked to write
	wrote bool   // droid has written that text, rather than found it
	saved bool   // someone has saved it, and droid's edit was dropped
	tries int    // number of previous late writes, each to repair the one before
	saves bool   // it was to save the user's changes
}

// awaitLate waits for the response to a write in another goroutine. If the late write has then overwritten droid's text, that is restored.
func (d *Overlay) awaitLate(at location, answered <-chan error, l *lateWrite) {
	f := d.files
	f.mu.Lock()
	p := f.fileState(at.resolved)
	p.late = l
	f.mu.Unlock()
	f.work.Go(func() {
		defer d.recoverPanic("panic while handling a late response of the editor")
		defer func() {
			f.mu.Lock()
			if p.late == l { // else the repair is late, too
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
			f.log.Warn("a late response of the editor cannot be handled because of another edit", zap.String("path", at.path), zap.Error(err))
			return
		}
		defer release()
		d.repairLate(at, l, now, refused)
	})
}

// repairLate checks whether a late write, answered at this time, has spoiled the file, and repairs that. What the user has saved since stays:
// droid's edit is merged into it, or if they overlap, the user is notified. What was saved within the same second cannot be distinguished
// from what the editor made of droid's text, which is written again. The file is locked.
func (d *Overlay) repairLate(at location, l *lateWrite, answered time.Time, refused error) {
	f := d.files
	f.mu.Lock()
	text, wrote, saved := l.text, l.wrote, l.saved
	f.mu.Unlock()
	if !wrote || l.tries >= maxTries {
		return
	}
	c, err := f.readAny(at.resolved)
	if err != nil {
		f.log.Error("a late write of the editor may have spoiled a file that cannot be read", zap.String("path", at.path), zap.Error(err))
		return
	}
	if c.text == text {
		return
	}
	if c.changed.Before(answered.Add(-lateSave)) || c.changed.After(answered.Add(lateSave)) {
		f.log.Info("a late write of the editor has not reached the disk", zap.String("path", at.path))
		return
	}
	text, how := reconcile(l.base, text, text, c.text, !l.saves)
	switch {
	case text == c.text:
		return
	case how == resolveOverlap && (l.saves || refused != nil):
		d.warnDropped(at)
		return
	}
	f.log.Warn("the editor has written late; restoring the file's text", zap.String("path", at.path))
	_, has, err := readable([]byte(text))
	if err != nil {
		return
	}
	written := *c
	written.text, written.ends = text, has
	e := &edit{Overlay: d, lockedFile: &lockedFile{location: at, overlay: d, old: c, came: c.changed}, n: &written, step: f.step, tries: l.tries + 1, begun: true}
	ours := plain(c.text) == plain(l.sent) || saved && madeOf(c.text, text, l.sent) // the edit, possibly merged with what was saved
	if how == resolveTorn || how == resolveOverlap && !ours && !maybeTwice(l.base, text, c.text) {
		e.overwritten = c.text
	}
	_, _ = e.carryOut(f.ctx, func(ctx context.Context) (*content, error) { // logs errors
		ctx, cancel := context.WithTimeout(ctx, f.wait)
		defer cancel()
		return e.writeOver(ctx, c.text)
	})
}

// warnDropped notifies the user that droid's edit may have been dropped in favour of what was saved.
func (d *Overlay) warnDropped(at location) {
	d.warn("While an edit of droid's was on its way to %s, the same lines were changed and saved. That stays, and the edit may be "+
		"missing: look at the file, and ask droid to make it again.", at)
}

// warn queues a message for the user about a file.
func (d *Overlay) warn(text string, at location) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.warnings = append(d.warnings, fmt.Sprintf(text, at.path))
}
