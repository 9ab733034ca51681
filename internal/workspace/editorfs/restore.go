package editorfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.uber.org/zap"
)

// linked checks that a symbolic link is still one.
func (e *edit) linked() error {
	if e.link == "" {
		return nil
	}
	if to, err := os.Readlink(e.path); err != nil || to != e.link {
		return errors.New("the editor has replaced a symbolic link")
	}
	return nil
}

// restore writes droid's text to disk: into the reserved space, and if that fails, twice more into new space. If someone has saved another
// text in the meantime, droid's edit is merged into that, which is returned (saved); or that text stays, and the error is errOverlap.
func (e *edit) restore() (saved *content, err error) {
	for range 3 {
		err = e.guarded(e.restoreOnce)
		if err == nil && e.text != e.n.text {
			saved = &content{text: e.text}
		}
		if err == nil || errors.Is(err, errOverlap) {
			return saved, err
		}
		e.step = func(stepName) {}
		e.reserve.close()
		e.reserve = nil
	}
	if e.journal != nil {
		e.files.keepUnreplayed(e.journal.path, e.journal.in, err)
	}
	return nil, err
}

func (e *edit) restoreOnce() error {
	if e.linked() != nil {
		if err := e.relink(); err != nil {
			e.files.log.Error("a symbolic link that the editor has replaced cannot be made again", zap.String("path", e.path), zap.Error(err))
		}
	}
	now, err := e.files.readAny(e.resolved)
	if err == nil && now.text != e.base && now.text != e.text {
		err = e.mergeSaved(now)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // if it cannot be read, what was saved is unknown
		return err
	}
	if now != nil && now.text == e.text {
		return nil
	}
	if e.reserve == nil || e.reserve.text != e.text {
		e.reserve.close()
		if e.reserve, err = stage(e.resolved, e.text, mode(e.n.info)); err != nil {
			return err
		}
	}
	e.step(stepPut)
	e.reserve.last = true
	return e.files.replace(e.resolved, e.temp, e.reserve, now, e.step, e.writesInPlace, func() error { return e.unchangedSince(now) })
}

// writesInPlace records that the file is going to be written in place.
func (e *edit) writesInPlace() {
	e.journal.sent()
	e.sent, e.inPlace = true, true
}

// errOverlap means that droid's edit was dropped in favour of what someone has saved.
var errOverlap = errors.New("somebody has changed the same lines and saved it")

// mergeSaved merges droid's edit into what someone has saved since. If they overlap, that stays, and the user is notified.
func (e *edit) mergeSaved(now *content) error {
	switch text, how := reconcile(e.base, e.n.text, e.text, now.text, e.sent); how {
	case resolveTorn:
		if !e.inPlace {
			e.torn = now.text
		}
	case resolveMerge:
		e.text, e.torn = text, ""
	case resolveOverlap:
		e.warnDropped(e.location)
		e.files.noteText(e.resolved, now, true)
		return errOverlap
	}
	return nil
}

// unchangedSince checks that no one has saved the file since it was read; seen is nil if it was missing.
func (e *edit) unchangedSince(seen *content) error {
	now, err := e.files.readAny(e.resolved)
	if seen == nil && errors.Is(err, fs.ErrNotExist) || seen != nil && err == nil && now.text == seen.text {
		return nil
	}
	return errors.Join(errMoved, err)
}

// relink restores a symbolic link that the editor has replaced by a file with droid's text.
func (e *edit) relink() error {
	now, err := e.files.readSuitable(e.path)
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

// complete restores mode and mtime of droid's write, records the state of the file, and removes the journal entry. saved is nil if the
// editor was not involved.
func (e *edit) complete(saved *content) {
	e.step(stepTimes)
	text := e.n.text
	if saved != nil {
		text = saved.text
	}
	if now, err := e.files.readSuitable(e.resolved); err == nil && now.text == text {
		mtime := e.n.info.ModTime()
		if saved != nil && e.o.KeepTimes {
			mtime = now.info.ModTime()
			e.updateKnown(e.resolved, func(k *droidFile) { k.text = e.files.exact(text) })
		}
		now = e.files.putAttributes(e.resolved, now, mode(e.n.info), mtime)
		if saved != nil && e.agreed {
			e.files.noteDisk(e.resolved, now, true)
		} else {
			e.files.noteDroidsText(e.resolved, now)
		}
	}
	e.step(stepForget)
	if e.journal != nil {
		e.forget()
	}
	e.step(stepDone)
}

// forget removes the entry of a completed edit. If the temporary file cannot be removed now, it gets a separate entry: replay the edit's
// own would repeat the edit even if the user has undone it.
func (e *edit) forget() {
	if in := e.journal.in; in.removeTemps() != nil {
		in.Done, in.Sum = true, sum("")
		if left, err := e.files.record(newID(), in, ""); err == nil {
			defer left.leave()
		}
	}
	e.journal.forget()
}

// replace writes a text into a file of any kind. now is the present file: nil if missing or unreadable. The text becomes a new file, which
// other hard links do not share: such a link is usually a backup, which must keep its text. If a new file is impossible or would lose
// something (attributes, an owner), the text is written in place, which is not atomic; writes is called before. check is called right
// before the file is touched.
func (f *Files) replace(resolved, temp string, s *staged, now *content, step func(stepName), writes func(), check func() error) error {
	if now != nil && now.unfit != nil && !errors.Is(now.unfit, errShared) {
		begun, err := f.overwrite(resolved, s.text, now.info, func() error {
			step(stepRename)
			err := check()
			if err == nil {
				writes()
			}
			return err
		})
		if err == nil || begun || !errors.Is(now.unfit, errNoWrite) {
			return err
		}
	}
	return f.put(resolved, temp, s, step, check)
}

// overwrite writes a text into a file that has one name and is the one in info. begun means that the old text is gone.
func (f *Files) overwrite(resolved, text string, info fs.FileInfo, check func() error) (begun bool, err error) {
	if err := f.failure("overwrite"); err != nil {
		return false, err
	}
	file, err := os.OpenFile(resolved, os.O_WRONLY|openFlags, 0)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if here, err := file.Stat(); err != nil || !os.SameFile(here, info) {
		return false, errors.Join(errBusy, err)
	}
	if err := check(); err != nil {
		return false, err
	}
	if err := file.Truncate(0); err != nil {
		return false, err
	}
	if _, err := file.WriteString(text); err != nil {
		return true, err
	}
	return true, file.Sync()
}
