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

	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"

	"go.uber.org/zap"
)

const (
	// replayLockTime is how long to wait for another edit of an entry's file before the entry is left for later.
	replayLockTime = 100 * time.Millisecond
	// replayTime is how long the start of an agent waits for all entries. A hanging file system may take for ever; the rest continues in the
	// background.
	replayTime = 2 * time.Second
	// replayConcurrency is the number of entries replayed concurrently.
	replayConcurrency = 8
	// unlockedAge is the minimum age of an unlocked entry to be replayed: no edit takes that long.
	unlockedAge = time.Minute
	// maxKept bounds the number of entries that cannot be replayed, and maxKeptBytes their total size. The oldest are removed.
	maxKept      = 200
	maxKeptBytes = 64 << 20
)

// replay completes the edits of killed agents. Entries of live agents, and those that another agent is replay, are locked and left alone.
func (f *Files) replay(names []fs.DirEntry) {
	paths := f.bounded(names)
	if len(paths) == 0 {
		return
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, replayConcurrency)
	for _, path := range paths {
		all.Add(1)
		f.work.Go(func() {
			defer all.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			f.replayEntry(path)
		})
	}
	done := make(chan struct{})
	f.work.Go(func() {
		all.Wait()
		close(done)
	})
	if !subprocess.WaitTimeout(done, replayTime) {
		f.log.Warn("edits that were interrupted are still being completed: a file system does not answer", zap.String("journal", f.journal))
	}
}

// bounded returns the paths of the entries among names. It removes abandoned lock files, and the oldest entries if there are too many.
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

// quiet is how long after a killed agent had sent a text to the editor the editor may still write it. If it does so after the file was
// replayed and reloaded, the edit is there twice.
const quiet = time.Second

// awaitQuiet waits while the old text is on disk and an editor may be about to replace it. sent is the earliest time at which it was asked
// to.
func (f *Files) awaitQuiet(e entry, text string, sent time.Time) {
	for {
		since := time.Since(sent)
		if since < -f.quiet || since >= f.quiet {
			return
		}
		if is, now, _ := f.diskState(e, text, sent); is != interrupted || now != nil && sum(now.text) != e.Old {
			return
		}
		if !subprocess.Sleep(f.ctx, min(pollEvery, f.quiet-since)) {
			return
		}
	}
}

var errMayBeActive = errors.New("another droid-acp may still work on it")

// replayEntry replays one entry. If that is not possible now, the entry stays.
func (f *Files) replayEntry(path string) {
	file, ok := f.claim(path)
	if !ok {
		return
	}
	r := &record{file: file, path: path}
	defer r.leave()
	e, text, err := load(file)
	if errors.Is(err, errDamaged) {
		f.log.Warn("an entry in the journal of edits is damaged, moving it aside", zap.String("entry", path))
		r.leave()
		_ = os.Rename(path, path+damagedEnd)
		return
	}
	var began fs.FileInfo
	if err == nil {
		began, err = file.Stat()
	}
	if err == nil && e.Unlocked && time.Since(began.ModTime()) < unlockedAge {
		err = errMayBeActive
	}
	if err == nil {
		err = f.replayFile(r, e, text, began.ModTime())
	}
	if err != nil {
		r.leave() // before others learn of it
		f.keepUnreplayed(path, e, err)
		return
	}
	f.markReplayed(path)
	r.forget()
}

// replayFile removes the temporary file, and writes the new text if the old one is on disk. began is when the edit began. Only if it returns
// nil the entry is no longer needed: the file has the new text, or was read and has a third one.
func (f *Files) replayFile(r *record, e entry, text string, began time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), replayLockTime)
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
	is, now, err := f.diskState(e, text, began)
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
	if now != nil && now.info.Mode()&0o200 == 0 { // the user has made it read-only since
		m = mode(now.info)
	}
	s, err := stage(e.Resolved, text, m)
	if err != nil {
		return err
	}
	defer s.close()
	s.last = true
	err = f.replace(e.Resolved, e.Temp, s, now, f.step, r.sent, func() error {
		if again, still, err := f.diskState(e, text, began); err != nil || again != interrupted || (still == nil) != (now == nil) {
			return errors.Join(errBusy, err)
		}
		return nil
	})
	if err == nil {
		f.log.Info("an edit that was interrupted is completed", zap.String("path", e.Path))
	}
	return err
}

// errTorn means that the editor was killed while writing the file, which has several names by now. The text is written in place, since
// otherwise a backup under the other name would keep a partial text or nothing.
var errTorn = errors.New("it has a part of a text, by several names")

// removeTemp removes a temporary file. It succeeds if the file does not exist, even if nothing can be removed.
func removeTemp(path string) error {
	err := os.Remove(path)
	if err != nil {
		if _, gone := os.Lstat(path); errors.Is(gone, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

// diskState is the state of an edit on disk.
type diskState string

const (
	interrupted diskState = "interrupted" // the file has the old text, or a part of the new one
	arrived     diskState = "arrived"     // it has the new text
	another     diskState = "another"     // it was read and has a third text
)

var (
	errGone      = errors.New("it is not there any more")
	errElsewhere = errors.New("its directory is another one than at the edit (is its disk mounted?)")
)

// diskState determines the state of an entry's file. The error means that its content is unknown. A part of the new text was left by an
// editor killed while writing. The content is nil for a new file that is missing.
func (f *Files) diskState(e entry, text string, began time.Time) (diskState, *content, error) {
	dir, err := os.Lstat(filepath.Dir(e.Resolved))
	if err != nil {
		return "", nil, err
	}
	now, err := f.readAny(e.Resolved)
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
