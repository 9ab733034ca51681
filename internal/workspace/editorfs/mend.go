package editorfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"droid-acp/internal/sys/child"
	"droid-acp/internal/sys/files"

	"go.uber.org/zap"
)

const (
	// mendPatience is how long an entry's file may be held by another edit until the entry is left
	// for later.
	mendPatience = 100 * time.Millisecond
	// mendLimit is how long the start of an agent waits for all entries. A file system that hangs
	// may take for ever; what is not mended by then goes on beside.
	mendLimit = 2 * time.Second
	// mendAtOnce is how many entries are mended at the same time.
	mendAtOnce = 8
	// unlockedAge is how old an entry must be that nothing locks: no edit takes that long.
	unlockedAge = time.Minute
	// maxKept is how many entries are kept that cannot be mended, and maxKeptBytes how large they
	// may be together. The oldest go.
	maxKept      = 200
	maxKeptBytes = 64 << 20
)

// mend ends what agents that were killed have begun. Entries whose agent lives are
// locked, and left alone; so are those that another agent mends.
func (f *Files) mend(names []fs.DirEntry) {
	paths := f.bounded(names)
	if len(paths) == 0 {
		return
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, mendAtOnce)
	for _, path := range paths {
		all.Add(1)
		f.work.Go(func() {
			defer all.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			f.mendOne(path)
		})
	}
	done := make(chan struct{})
	f.work.Go(func() {
		all.Wait()
		close(done)
	})
	if !child.Within(done, mendLimit) {
		f.log.Warn("edits that were interrupted are still being completed: a file system does not answer", zap.String("journal", f.journal))
	}
}

// bounded are the paths of the entries among these names. It removes what agents that were killed left
// of locks, and the oldest entries where there are too many.
func (f *Files) bounded(names []fs.DirEntry) (paths []string) {
	type file struct {
		path string
		info fs.FileInfo
	}
	var found []file
	for _, name := range names {
		path := filepath.Join(f.journal, name.Name())
		info, err := name.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case isEntry(name.Name()), strings.HasSuffix(path, damagedEnd):
			found = append(found, file{path, info})
		case strings.HasSuffix(path, lockEnd), strings.HasSuffix(path, halfEnd):
			if left, ok := f.claim(path); ok {
				files.Unlock(left, path)
			}
		}
	}
	slices.SortFunc(found, func(a, b file) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	size := int64(0)
	for i, one := range found {
		size += one.info.Size()
		switch {
		case i >= maxKept || size > maxKeptBytes:
			if left, ok := f.claim(one.path); ok {
				f.log.Error("the journal of edits is full; its oldest entry is removed", zap.String("entry", one.path))
				files.Unlock(left, one.path)
			}
		case !strings.HasSuffix(one.path, damagedEnd):
			paths = append(paths, one.path)
		}
	}
	return paths
}

// quiet is how long after an agent that was killed had given the editor a text the editor may
// still do that write. If it comes when the file was mended, and the editor has
// reloaded it, the edit is there twice.
const quiet = time.Second

// awaitQuiet waits while the old text is on disk that an editor may be about to replace. sent is
// when it was told to, at the earliest.
func (f *Files) awaitQuiet(e entry, text string, sent time.Time) {
	for {
		since := time.Since(sent)
		if since < -f.quiet || since >= f.quiet {
			return
		}
		if is, now, _ := f.standing(e, text, sent); is != interrupted || now != nil && sum(now.text) != e.Old {
			return
		}
		if !child.Pause(f.ctx, min(pollEvery, f.quiet-since)) {
			return
		}
	}
}

var errYoung = errors.New("another droid-acp may still work on it")

// mendOne mends one entry. What cannot be mended now stays.
func (f *Files) mendOne(path string) {
	file, ok := f.claim(path)
	if !ok {
		return
	}
	r := &record{file: file, path: path}
	defer r.leave()
	e, text, err := load(file)
	if errors.Is(err, errDamaged) {
		f.log.Warn("an entry in the journal of edits is damaged, and moved aside", zap.String("entry", path))
		r.leave()
		_ = os.Rename(path, path+damagedEnd)
		return
	}
	var began fs.FileInfo
	if err == nil {
		began, err = file.Stat()
	}
	if err == nil && e.Unlocked && time.Since(began.ModTime()) < unlockedAge {
		err = errYoung
	}
	if err == nil {
		err = f.mendFile(r, e, text, began.ModTime())
	}
	if err != nil {
		r.leave()
		f.stays(path, e, err)
		return
	}
	f.isMended(path)
	r.forget()
}

// mendFile removes the temporary file, and puts the new text on disk if the old one is
// there. began is when the edit did. Only after nil the entry is needed no more: the file has the new
// text, or was read and has a third one.
func (f *Files) mendFile(r *record, e entry, text string, began time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), mendPatience)
	defer cancel()
	release, err := f.lock(ctx, e.Resolved)
	if err != nil {
		return err
	}
	defer release()
	if !e.Done {
		f.awaitQuiet(e, text, began)
	}
	if err := e.removeTemps(); err != nil || e.Done {
		return err
	}
	is, now, err := f.standing(e, text, began)
	switch {
	case err != nil:
		return err
	case is == another:
		f.log.Info("an edit was interrupted; its file has another text, and is left alone", zap.String("path", e.Path))
		return nil
	case is == arrived:
		return nil
	}
	if now != nil && errors.Is(now.unfit, errShared) && sum(now.text) != e.Old {
		now.unfit = errTorn
	}
	m := fs.FileMode(e.Mode)
	if now != nil && now.info.Mode()&0o200 == 0 { // its user has protected it since
		m = mode(now.info)
	}
	s, err := stage(e.Resolved, text, m)
	if err != nil {
		return err
	}
	defer s.close()
	s.last = true
	err = f.replace(e.Resolved, e.Temp, s, now, f.step, r.sent, func() error {
		if again, still, err := f.standing(e, text, began); err != nil || again != interrupted || (still == nil) != (now == nil) {
			return errors.Join(errBusy, err)
		}
		return nil
	})
	if err == nil {
		f.log.Info("an edit that was interrupted is completed", zap.String("path", e.Path))
	}
	return err
}

// errTorn: the editor was killed while it wrote the file, which has another name by now. The text is
// written in place: a backup by that name would keep a part of a text, or nothing.
var errTorn = errors.New("it has a part of a text, by several names")

// removeTemp removes a temporary file. One that is not there is no error, also where nothing
// can be removed.
func removeTemp(path string) error {
	err := os.Remove(path)
	if err != nil {
		if _, gone := os.Lstat(path); errors.Is(gone, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

// standing says how far an edit has come.
type standing string

const (
	interrupted standing = "interrupted" // the file has the text from before, or a part of the new one
	arrived     standing = "arrived"     // it has the new text
	another     standing = "another"     // it was read and has a third text
)

var (
	errGone      = errors.New("it is not there any more")
	errElsewhere = errors.New("its directory is another one than at the edit (is its disk mounted?)")
)

// standing looks at an entry's file. The error says that nobody knows what it has. A part of
// the new text is left by an editor that was killed while it wrote. The content is nil for a
// new file that is missing.
func (f *Files) standing(e entry, text string, began time.Time) (standing, *content, error) {
	dir, err := os.Lstat(filepath.Dir(e.Resolved))
	if err != nil {
		return "", nil, err
	}
	now, err := f.peek(e.Resolved)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !e.New:
		return "", nil, errGone
	case errors.Is(err, fs.ErrNotExist) && e.Dir != 0 && inode(dir) != e.Dir:
		return "", nil, errElsewhere
	case errors.Is(err, fs.ErrNotExist):
		return interrupted, nil, nil
	case errors.Is(err, errSize): // larger than the edit's texts
		return another, nil, nil
	case err != nil:
		return "", nil, err
	case now.text == text:
		return arrived, now, nil
	case !e.New && sum(now.text) == e.Old:
		return interrupted, now, nil
	}
	during := !now.changed.Before(began.Add(-time.Second)) && now.changed.Before(began.Add(3*f.wait))
	if partOf(text, now.text) && during {
		return interrupted, now, nil
	}
	return another, now, nil
}
