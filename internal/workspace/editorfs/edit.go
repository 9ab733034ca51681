package editorfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"droid-acp/internal/sys/child"

	"go.uber.org/zap"
)

// edit takes what droid has written to the editor.
type edit struct {
	*Overlay
	*lockedFile
	n        *content // droid's text, and how the file was when droid had written it
	step     func(stepName)
	temp     string
	journal  *record
	reserve  *staged // droid's text with its room on the disk
	before   *staged // the old text; nil for a new file
	late     bool
	agreed   bool   // the editor was seen to have what is on disk
	readText string // what it had in place of that
	tries    int    // see late
	begun    bool   // the file was touched
	base     string // the text that the disk has for the editor; a third one beside it and droid's is somebody's save
	sent     bool   // droid's text is being written, most often by the editor: a part of it on the disk is nobody's save
	text     string // what restore puts on disk: droid's text, or with what somebody has saved
	torn     string // a part of the text that the editor has most likely left
	inPlace  bool   // the file was going to be written in place here: such a part may be of that
	over     string // what the editor had saved in place of droid's text, where that may be what its user has changed
}

// run takes droid's edit to the editor, as through does it.
func (e *edit) run(ctx context.Context, through func(context.Context) (*content, error)) (note string, late bool) {
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
	return note, e.late
}

// carryOut writes droid's text through the editor, as through does it. Whatever happens, it is on disk
// in the end, or what the editor has saved in its place (saved); an error says that it is in the
// journal alone, or errMet that what its user has saved stays.
func (e *edit) carryOut(ctx context.Context, through func(context.Context) (*content, error)) (saved *content, err error) {
	if err = e.guarded(e.prepareEdit); err != nil && !e.begun {
		e.miss(e.path, err)
	}
	defer func() {
		e.reserve.close()
		e.before.close()
		e.journal.leave() // for mending, where it is not forgotten
	}()
	saved = e.n
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
		if e.begun || e.journal != nil { // else the file stays as droid, or somebody since, has written it
			saved, err = e.restore()
		}
		if err != nil && !errors.Is(err, errMet) {
			e.files.log.Error("droid's text could not be put back on disk; it is kept in the journal and put there later", zap.String("path", e.path), zap.Error(err))
			return nil, err
		}
	}
	over := cmp.Or(e.over, e.torn)
	if err == nil && over != "" && (saved == nil || saved.text != over) {
		e.tell("While an edit of droid's was on its way to %s, another text that your editor had saved there was written over. "+
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

// prepareEdit has the two texts and the journal entry ready. The file is not touched.
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

// through is the edit by way of the editor. The file that it returns has what the editor
// has saved; after an error it may have anything.
func (e *edit) through(ctx context.Context) (*content, error) {
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
	if err == nil && found == undone {
		saved, found, err = e.onceMore(writing)
	}
	if err != nil || found != twice {
		return saved, err
	}
	return e.writeOver(all, saved.text)
}

// maxOver is how often droid's text is written over another one.
const maxOver = 3

// writeOver has the editor write droid's text when it has another one, which is on disk. What it makes of that counts
// when it can be nothing but droid's edit, formatted, or when it has made the same of it twice. An editor that makes
// another text of it each time keeps none: the disk gets droid's.
func (e *edit) writeOver(ctx context.Context, has string) (*content, error) {
	for range maxOver {
		e.base, e.sent = has, false
		buffer, err := e.awaitText(ctx, has)
		if err != nil {
			return nil, err
		}
		err = e.write(ctx, buffer)
		saved, found, err := e.examine(ctx, err)
		if err != nil || found != twice || saved.text == has {
			return saved, err
		}
		has = saved.text
	}
	return nil, errSaved
}

// oldText is the text before the edit; a new file has none.
func (e *edit) oldText() string {
	if e.old == nil {
		return ""
	}
	return e.old.text
}

// unchanged makes sure that the disk has droid's text.
func (e *edit) unchanged() error {
	now, err := e.files.look(e.resolved)
	if err == nil && now.text != e.n.text {
		err = errMoved
	}
	return err
}

// putOld puts the old text back on disk, or removes a new file.
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

// awaitText reads through the editor until it gives a text twice: a reload that was on its way
// at the first time has come then. A new file has no text; the editor may not know it.
func (e *edit) awaitText(ctx context.Context, text string) (buffer string, err error) {
	answered := false
	for seen := 0; ; {
		buffer, err = e.readEditor(ctx, e.path)
		if answered && errors.Is(err, errLate) { // only the text that is waited for has not come
			return "", errStale
		}
		answered = true
		if err != nil && (e.old != nil || errors.Is(err, errLate)) {
			if errors.Is(err, errLate) {
				e.wasSilent(ctx)
				e.late = true
			}
			return "", err
		}
		every := pollEvery
		if seen++; err != nil && text == "" || err == nil && alike(text, buffer) {
			every = settle
		} else {
			seen = 0
		}
		if seen == 2 {
			return buffer, nil
		}
		if !child.Pause(ctx, every) {
			return "", errStale
		}
	}
}

// write gives the editor droid's text, with such ends of lines as it gave itself.
func (e *edit) write(ctx context.Context, buffer string) error {
	e.journal.sent()
	e.sent = true
	answered, err := e.writeEditor(ctx, e.path, matching(buffer, e.n.text))
	if errors.Is(err, errLate) {
		e.late = true
		e.awaitLate(e.location, answered, &late{text: e.n.text, base: e.oldText(), sent: e.n.text, wrote: true, tries: e.tries})
	}
	return err
}
