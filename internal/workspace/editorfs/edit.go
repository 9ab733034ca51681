package editorfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"droid-acp/internal/sys/subprocess"

	"go.uber.org/zap"
)

// edit delivers a text that droid has written to the editor.
type edit struct {
	*Overlay
	*lockedFile
	n           *content // droid's text, and the state of the file after droid's write
	step        func(stepName)
	temp        string
	journal     *record
	reserve     *staged // droid's text with disk space reserved
	before      *staged // the old text; nil for a new file
	agreed      bool    // the editor was seen to have the text on disk
	readText    string  // the text that it had when droid's was on disk
	tries       int     // see lateWrite
	begun       bool    // the file was touched
	base        string  // the text on disk for the editor; one other than it and droid's was saved by someone else
	sent        bool    // droid's text is being written, usually by the editor: a part of it on disk is not a save by someone else
	text        string  // the text that restore writes: droid's, possibly merged with what someone has saved
	torn        string  // a partial text, most likely left by the editor
	inPlace     bool    // the file was going to be written in place: a partial text may be ours
	overwritten string  // text that the editor saved instead of droid's; it may contain the user's changes
}

// run delivers droid's edit by means of through.
func (e *edit) run(ctx context.Context, through func(context.Context) (*content, error)) (note string) {
	delivered := e.files.startDelivery(e.resolved, e.n.text)
	defer delivered()
	saved, err := e.carryOut(ctx, through)
	switch {
	case err != nil:
		note = unwritten(e.path, err)
	case saved != nil && saved.text != e.n.text && saved.text == e.text:
		note = fmt.Sprintf("Somebody else has changed %s meanwhile, and your change was made in that: %s from what you wrote.", e.path, differ(e.n.text, saved.text))
	case saved != nil && saved.text != e.n.text:
		note = noteOf(e.path, e.n.text, saved.text)
	}
	return note
}

// carryOut writes droid's text through the editor by means of through. Whatever happens, the disk finally has it, or what the editor saved
// instead (saved). An error means that the text is only in the journal, or errOverlap that what the user saved stays.
func (e *edit) carryOut(ctx context.Context, through func(context.Context) (*content, error)) (saved *content, err error) {
	if err = e.guarded(e.prepareEdit); err != nil && !e.begun {
		e.warnMissed(e.path, err)
	}
	defer func() {
		e.reserve.close()
		e.before.close()
		e.journal.leave() // to be replayed if it was not forgotten
	}()
	if err == nil {
		err = e.guarded(func() (err error) {
			if saved, err = through(ctx); err == nil {
				e.files.noteDelivered(e.resolved, saved.text)
			}
			return err
		})
	}
	if err != nil {
		e.files.log.Info("an edit did not pass through the editor", zap.String("path", e.path), zap.Error(err))
		saved, err = nil, nil
		if e.begun || e.journal != nil { // else the file stays as it is
			saved, err = e.restore()
		}
		if err != nil && !errors.Is(err, errOverlap) {
			e.files.log.Error("droid's text could not be put back on disk; it is kept in the journal and put there later", zap.String("path", e.path), zap.Error(err))
			return nil, err
		}
	}
	over := cmp.Or(e.overwritten, e.torn)
	if err == nil && over != "" && (saved == nil || saved.text != over) {
		e.warn("While an edit of droid's was on its way to %s, another text that your editor had saved there was written over. "+
			"If that had changes of yours, undo in your editor brings them back.", e.location)
	}
	if e.guarded(func() error { e.complete(saved); return nil }) != nil {
		e.step = func(stepName) {}
		e.complete(saved)
	}
	return saved, err
}

// guarded turns a panic into an error.
func (e *edit) guarded(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a panic: %v", r)
		}
	}()
	return do()
}

// prepareEdit prepares the two texts and the journal entry. It does not touch the file.
func (e *edit) prepareEdit() (err error) {
	e.base, e.text = e.oldText(), e.n.text
	if e.reserve, err = stage(e.resolved, e.n.text, mode(e.n.info)); err != nil {
		return err
	}
	in := entry{
		Path: e.path, Resolved: e.resolved, New: e.old == nil, Sum: sum(e.n.text),
		Mode: uint32(mode(e.n.info)), MTime: e.n.info.ModTime().UnixNano(),
	}
	if above, err := os.Lstat(filepath.Dir(e.resolved)); err == nil {
		in.Dir = inode(above)
	}
	if e.old != nil {
		if e.before, err = stage(e.resolved, e.old.text, mode(e.old.info)); err != nil {
			return err
		}
		e.before.mtime = e.mtime()
		in.Old = sum(e.old.text)
	}
	id := newID()
	e.temp = tempName(id)
	in.Temp = e.temp
	e.step(stepJournal)
	e.journal, err = e.files.record(id, in, e.n.text)
	if err == nil {
		e.step(stepNoted)
	}
	return err
}

// viaEditor makes the edit through the editor. It returns the file as saved by the editor; after an error the file may have any content.
func (e *edit) viaEditor(ctx context.Context) (*content, error) {
	e.step(stepOld)
	if err := e.putOld(); err != nil {
		return nil, err
	}
	e.begun = true
	all, stop := context.WithTimeout(ctx, 2*e.files.wait)
	defer stop()
	e.step(stepRead)
	reading, cancel := context.WithTimeout(all, e.files.wait)
	defer cancel()
	buffer, err := e.awaitText(reading, e.oldText())
	if err != nil {
		return nil, err
	}
	e.step(stepWrite)
	writing, cancel := context.WithTimeout(all, e.files.wait)
	defer cancel()
	err = e.write(writing, buffer)
	e.step(stepLook)
	saved, found, err := e.examine(writing, err)
	if err == nil && found == findingUndone {
		saved, found, err = e.onceMore(writing)
	}
	if err != nil || found != findingTwice {
		return saved, err
	}
	return e.writeOver(all, saved.text)
}

// maxOver is how often droid's text is written over another one.
const maxOver = 3

// writeOver makes the editor write droid's text over another one, which is on disk. The result is accepted if it can only be droid's edit,
// formatted, or if it is the same twice. If the editor makes another text of it each time, the disk gets droid's.
func (e *edit) writeOver(ctx context.Context, has string) (*content, error) {
	for range maxOver {
		e.base, e.sent = has, false
		buffer, err := e.awaitText(ctx, has)
		if err != nil {
			return nil, err
		}
		err = e.write(ctx, buffer)
		saved, found, err := e.examine(ctx, err)
		if err != nil || found != findingTwice || saved.text == has {
			return saved, err
		}
		has = saved.text
	}
	return nil, errSaved
}

// oldText returns the text before the edit, "" for a new file.
func (e *edit) oldText() string {
	if e.old == nil {
		return ""
	}
	return e.old.text
}

// unchanged checks that the disk has droid's text.
func (e *edit) unchanged() error {
	now, err := e.files.readSuitable(e.resolved)
	if err == nil && now.text != e.n.text {
		err = errMoved
	}
	return err
}

// putOld restores the old text on disk, or removes a new file.
func (e *edit) putOld() error {
	if e.before != nil {
		return e.files.put(e.resolved, e.temp, e.before, e.step, e.unchanged)
	}
	if err := e.unchanged(); err != nil {
		return err
	}
	e.step(stepRename)
	return os.Remove(e.resolved)
}

// awaitText reads through the editor until it returns a text that has just been put on disk. It pauses before each read: a reload that has
// read the file before usually ends within the pause, and examine finds what a longer one has spoiled. A new file has no text, and the
// editor may not know it.
func (e *edit) awaitText(ctx context.Context, text string) (buffer string, err error) {
	for answered := false; subprocess.Sleep(ctx, pollEvery); answered = true {
		buffer, err = e.readEditor(ctx, e.path)
		switch {
		case answered && errors.Is(err, errLate): // it answered before, but without the expected text
			return "", errStale
		case errors.Is(err, errLate):
			e.markSilent(ctx)
			return "", err
		case err != nil && e.old != nil:
			return "", err
		case err != nil && text == "", err == nil && sameText(text, buffer):
			return buffer, nil
		}
	}
	return "", errStale
}

// write sends droid's text to the editor, with the line endings that the editor itself uses.
func (e *edit) write(ctx context.Context, buffer string) error {
	e.journal.sent()
	e.sent = true
	answered, err := e.writeEditor(ctx, e.path, matching(buffer, e.n.text))
	if errors.Is(err, errLate) {
		e.awaitLate(e.location, answered, &lateWrite{text: e.n.text, base: e.oldText(), sent: e.n.text, wrote: true, tries: e.tries})
	}
	return err
}
