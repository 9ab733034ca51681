package editorfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.uber.org/zap"
)

// edit takes what droid has written to the editor.
type edit struct {
	*Desk
	*held
	n       *content // droid's text, and how the file was when droid had written it
	step    func(Step)
	temp    string
	journal *record
	reserve *staged // droid's text with its room on the disk
	before  *staged // the old text; nil for a new file
	late    bool
	tries   int  // see late
	begun   bool // the file was touched
}

// run does the whole edit. Whatever happens, droid's text is on disk in the end, or what
// the editor has saved in its place.
func (e *edit) run(ctx context.Context) (note string, late bool) {
	arrived := e.files.move(e.resolved)
	defer arrived()
	err := e.guarded(e.prepareEdit)
	defer e.reserve.close()
	defer e.before.close()
	if e.journal != nil {
		defer e.journal.leave() // for mending, where it is not forgotten
	}
	saved := e.n
	if err == nil {
		err = e.guarded(func() (err error) {
			saved, err = e.through(ctx)
			return err
		})
	}
	if err != nil {
		e.files.log.Info("an edit did not pass through the editor", zap.String("path", e.path), zap.Error(err))
		if !e.begun && errors.Is(err, errMoved) { // what somebody has saved since stays
			err = nil
		} else {
			err = e.restore()
		}
		if err != nil {
			e.files.log.Error("droid's text could not be put back on disk; it is kept in the journal and put there later", zap.String("path", e.path), zap.Error(err))
			return fmt.Sprintf("%s could not be written: %v. Your change may be missing from it.", e.path, err), e.late
		}
		saved = nil
	}
	if e.guarded(func() error { e.complete(saved); return nil }) != nil {
		e.step = func(Step) {}
		e.complete(saved)
	}
	if saved != nil && saved.text != e.n.text {
		note = noteOf(e.path, e.n.text, saved.text)
	}
	return note, e.late
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
	if e.reserve, err = stage(e.resolved, e.n.text, mode(e.n.info)); err != nil {
		return err
	}
	in := entry{
		Path: e.path, Resolved: e.resolved, New: e.old == nil, Sum: sum(e.n.text),
		Mode: uint32(mode(e.n.info)), MTime: e.n.info.ModTime().UnixNano(),
	}
	if e.old != nil {
		if e.before, err = stage(e.resolved, e.old.text, mode(e.n.info)); err != nil {
			return err
		}
		in.Old = sum(e.old.text)
	}
	id := newID()
	e.temp = tempName(id)
	in.Temp = e.temp
	e.step(StepJournal)
	e.journal, err = e.files.record(id, in, e.n.text)
	if err == nil {
		e.step(StepNoted)
	}
	return err
}

// through is the edit by way of the editor. The file that it returns has what the editor
// has saved; after an error it may have anything.
func (e *edit) through(ctx context.Context) (*content, error) {
	e.step(StepOld)
	if err := e.putOld(); err != nil {
		return nil, err
	}
	e.begun = true
	e.step(StepRead)
	old := ""
	if e.old != nil {
		old = e.old.text
	}
	reading, cancel := context.WithTimeout(ctx, e.files.wait)
	defer cancel()
	buffer, err := e.settled(reading, old)
	if err != nil {
		return nil, err
	}
	e.step(StepWrite)
	writing, cancel := context.WithTimeout(ctx, e.files.wait)
	defer cancel()
	err = e.write(writing, buffer)
	e.step(StepLook)
	saved, twice, err := e.examine(writing, old, err)
	if err != nil || !twice {
		return saved, err
	}
	if buffer, err = e.settled(writing, saved.text); err != nil {
		return nil, err
	}
	err = e.write(writing, buffer)
	saved, _, err = e.examine(writing, old, err)
	return saved, err
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
	e.step(StepRename)
	return os.Remove(e.resolved)
}

// settled reads through the editor until it gives a text twice: a reload that was on its way
// at the first time has come then. A new file has no text; the editor may not know it.
func (e *edit) settled(ctx context.Context, text string) (buffer string, err error) {
	for seen := 0; ; {
		buffer, err = e.ask(ctx, e.path)
		if err != nil && (e.old != nil || errors.Is(err, errLate)) {
			if errors.Is(err, errLate) {
				e.wasSilent(ctx)
				e.late = true
			}
			return "", err
		}
		every := pollEvery
		if seen++; err != nil && text == "" || err == nil && plain(buffer) == plain(text) {
			every = settle
		} else {
			seen = 0
		}
		if seen == 2 {
			return buffer, nil
		}
		if !pause(ctx, every) {
			return "", errStale
		}
	}
}

// write gives the editor droid's text, with such ends of lines as it gave itself.
func (e *edit) write(ctx context.Context, buffer string) error {
	answered, err := e.tell(ctx, e.path, matching(buffer, e.n.text))
	if errors.Is(err, errLate) {
		e.late = true
		e.awaitLate(e.location, answered, &late{text: e.n.text, wrote: true, tries: e.tries})
	}
	return err
}

// examine looks at what is on disk after a write with this outcome. It is fine if it is
// droid's text, or what the editor's buffer has. twice says that it could be droid's edit
// done twice: a second write tells.
func (e *edit) examine(ctx context.Context, old string, outcome error) (saved *content, twice bool, err error) {
	now, err := e.files.look(e.resolved)
	switch {
	case err == nil && now.text == e.n.text:
		return now, false, e.linked()
	case outcome != nil:
		return nil, false, outcome
	case err != nil:
		return nil, false, err
	case !fits(e.n.ends, now.ends):
		return nil, false, errEnds
	case now.text == old, now.text == "": // a reload has undone the edit before it was saved
		return nil, false, errMoved
	}
	buffer, err := e.ask(ctx, e.path)
	if err != nil {
		return nil, false, err
	}
	if plain(buffer) != plain(now.text) {
		return nil, false, errSaved
	}
	return now, perhapsTwice(old, e.n.text, now.text), e.linked()
}

// linked makes sure that a symbolic link is still one.
func (e *edit) linked() error {
	if e.link == "" {
		return nil
	}
	if to, err := os.Readlink(e.path); err != nil || to != e.link {
		return errors.New("the editor has replaced a symbolic link")
	}
	return nil
}

// restore puts droid's text on disk, whatever is there. It is tried twice: with the room
// that was reserved, and anew.
func (e *edit) restore() (err error) {
	for range 3 {
		err = e.guarded(e.restoreOnce)
		if err == nil {
			return nil
		}
		e.step = func(Step) {}
		e.reserve.close()
		fresh, serr := stage(e.resolved, e.n.text, mode(e.n.info))
		if serr != nil {
			continue
		}
		e.reserve = fresh
	}
	return err
}

func (e *edit) restoreOnce() error {
	if e.linked() != nil {
		if err := e.relink(); err != nil {
			e.files.log.Error("a symbolic link that the editor has replaced cannot be made again", zap.String("path", e.path), zap.Error(err))
		}
	}
	if e.unchanged() == nil {
		return nil
	}
	e.step(StepPut)
	e.reserve.last = true
	return e.files.put(e.resolved, e.temp, e.reserve, e.step, func() error { return nil })
}

// relink makes a symbolic link again that the editor has replaced by a file with droid's text.
func (e *edit) relink() error {
	now, err := e.files.look(e.path)
	if err != nil || plain(now.text) != plain(e.n.text) {
		return errors.Join(errMoved, err)
	}
	temp := filepath.Join(filepath.Dir(e.path), e.temp)
	if err := os.Symlink(e.link, temp); err != nil {
		return err
	}
	if err := os.Rename(temp, e.path); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return nil
}

// complete puts mode and mtime of droid's write back, notes how the file is, and forgets
// the edit. saved is nil when the editor has no part in it.
func (e *edit) complete(saved *content) {
	e.step(StepTimes)
	text := e.n.text
	if saved != nil {
		text = saved.text
	}
	if now, err := e.files.look(e.resolved); err == nil && now.text == text {
		now = e.files.keep(e.resolved, now, mode(e.n.info), e.n.info.ModTime())
		e.files.saw(e.resolved, now, saved != nil)
	}
	e.step(StepForget)
	if e.journal != nil {
		e.journal.forget()
	}
	e.step(StepDone)
}
