package editorfs

import (
	"context"
	"errors"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"

	"go.uber.org/zap"
)

// maxFileStates bounds the number of remembered files, and maxEarlier the texts of each.
const (
	maxFileStates = 4096
	maxEarlier    = 8
)

// fileState is the known state of one file. Files.mu guards it, except for lock.
type fileState struct {
	lock       chan struct{} // has one element while an edit has locked the file
	users      int           // number of holders and waiters of lock; at 0 the place may be dropped
	delivering chan struct{} // closed when the current delivery to the editor is done
	delivered  [2]uint64     // exact hashes of the text last delivered to the editor, and of what was saved of it
	late       *lateWrite    // a write that the editor has not answered in time

	seen      bool
	text      uint64    // hash of the text on disk when it was last read
	info      *content  // the file at that time, without its text
	confirmed bool      // the editor has had this text since
	direct    bool      // droid has written this text, and the editor may not have it
	earlier   []uint64  // hashes of texts that the disk had before
	used      time.Time // when it was last used
}

// fileState returns the place of a file, creating it if missing. Files.mu is held.
func (f *Files) fileState(resolved string) *fileState {
	p := f.fileStates[resolved]
	if p == nil {
		f.forget()
		p = &fileState{lock: make(chan struct{}, 1)}
		f.fileStates[resolved] = p
	}
	p.used = time.Now()
	return p
}

// forget makes room for one more place by dropping the least recently used.
func (f *Files) forget() {
	if len(f.fileStates) < maxFileStates {
		return
	}
	var oldest string
	for path, p := range f.fileStates {
		if p.users == 0 && p.late == nil && p.delivering == nil && (oldest == "" || p.used.Before(f.fileStates[oldest].used)) {
			oldest = path
		}
	}
	delete(f.fileStates, oldest)
}

// hash returns a hash of a text, ignoring line endings.
func (f *Files) hash(text string) uint64 { return maphash.String(f.seed, plain(text)) }

// exact returns a hash of a text.
func (f *Files) exact(text string) uint64 { return maphash.String(f.seed, text) }

// noteDisk records the text on disk, and whether the editor has the same. Previous texts are kept as earlier ones.
func (f *Files) noteDisk(resolved string, c *content, same bool) {
	text := f.hash(c.text)
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.fileState(resolved)
	if p.seen && p.text != text && !slices.Contains(p.earlier, p.text) {
		p.earlier = append(p.earlier, p.text)
		if len(p.earlier) > maxEarlier {
			p.earlier = slices.Delete(p.earlier, 0, 1)
		}
	}
	if p.text != text {
		p.direct = false
	}
	confirmed := same || p.confirmed && p.text == text && p.info.same(c.info, c.changed)
	p.seen, p.text, p.confirmed = true, text, confirmed
	p.info = &content{info: c.info, changed: c.changed}
}

// noteDroidsText records that droid has written this text, and that the editor may not have it.
func (f *Files) noteDroidsText(resolved string, c *content) { f.noteText(resolved, c, false) }

// noteText is noteDroidsText, optionally for a text that someone has saved and that must stay.
func (f *Files) noteText(resolved string, c *content, saved bool) {
	f.noteDisk(resolved, c, false)
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.fileState(resolved)
	p.direct = true
	if p.late != nil {
		p.late.text, p.late.wrote, p.late.saved = c.text, true, saved
	}
}

// editorBehind reports whether droid or a command has written the file's text and the editor was not seen to have it.
func (f *Files) editorBehind(resolved string, c *content) bool {
	f.noteDisk(resolved, c, false)
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.fileState(resolved)
	return !p.confirmed && (p.direct || f.commands.ran(c.changed))
}

// compareWith collects what is known when the editor has buffer for a file.
func (f *Files) compareWith(resolved string, c *content, buffer string) comparison {
	text, now := f.hash(buffer), time.Now()
	same := sameText(c.text, buffer)
	f.noteDisk(resolved, c, same)
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.fileState(resolved)
	return comparison{
		same: same, confirmed: p.confirmed, earlier: text != p.text && slices.Contains(p.earlier, text),
		empty: buffer == "", command: f.commands.ran(c.changed), direct: p.direct, age: now.Sub(c.changed),
	}
}

// lockLocal locks a file within this agent until leave. It fails if ctx is done first.
func (f *Files) lockLocal(ctx context.Context, resolved string) (leave func(), err error) {
	f.mu.Lock()
	p := f.fileState(resolved)
	p.users++
	f.mu.Unlock()
	done := func() {
		f.mu.Lock()
		p.users--
		f.mu.Unlock()
	}
	select {
	case p.lock <- struct{}{}: // even if ctx is done
	default:
		select {
		case p.lock <- struct{}{}:
		case <-ctx.Done():
			done()
			return nil, ctx.Err()
		}
	}
	return func() {
		<-p.lock
		done()
	}, nil
}

// lock locks a file for an edit, against this agent and others, until release. It fails if ctx is done first.
func (f *Files) lock(ctx context.Context, resolved string) (release func(), err error) {
	leave, err := f.lockLocal(ctx, resolved)
	if err != nil {
		return nil, err
	}
	letGo, err := f.lockForAll(ctx, resolved)
	if err != nil {
		leave()
		return nil, err
	}
	return func() {
		letGo()
		leave()
	}, nil
}

// lockForAll locks a file against other agents of this user, by a lock file in the journal. If locks are unavailable, it succeeds without
// one: blocking the edit, or ignoring unsaved text, would be worse.
func (f *Files) lockForAll(ctx context.Context, resolved string) (release func(), err error) {
	path := filepath.Join(f.journal, sum(resolved)[:32]+lockEnd)
	for {
		var file *os.File
		err := f.inJournal(func() (err error) {
			file, err = f.locks.Take(path)
			return err
		})
		if err != nil && !errors.Is(err, files.ErrHeld) {
			f.noLocks(err)
			err = nil
		}
		if file != nil {
			return func() { files.Unlock(file, path) }, nil
		}
		if err == nil {
			return func() {}, nil
		}
		if !subprocess.Sleep(ctx, pollEvery) {
			return nil, ctx.Err()
		}
	}
}

// startDelivery records that this text of the file is being delivered to the editor, until delivered is called.
func (f *Files) startDelivery(resolved, text string) (delivered func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, delivering := f.fileState(resolved), make(chan struct{})
	p.delivering = delivering
	p.delivered = [2]uint64{f.exact(text), f.exact(text)}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if p.delivering == delivering {
			p.delivering = nil
		}
		close(delivering)
	}
}

// noteDelivered records what the editor has saved of the edit being delivered.
func (f *Files) noteDelivered(resolved, saved string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fileState(resolved).delivered[1] = f.exact(saved)
}

// wasDelivered reports whether text is the text of the last delivered edit.
func (f *Files) wasDelivered(resolved, text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.fileStates[resolved]
	return p != nil && slices.Contains(p.delivered[:], f.exact(text))
}

// lateAt returns the write that the editor has not answered in time, or nil.
func (f *Files) lateAt(resolved string) *lateWrite {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.fileStates[resolved]; p != nil {
		return p.late
	}
	return nil
}

// putAttributes sets mode and mtime of a file, if it is unchanged since it was read, and returns its new state.
func (f *Files) putAttributes(resolved string, c *content, m fs.FileMode, mtime time.Time) *content {
	info, err := os.Lstat(resolved)
	if err != nil || !c.same(info, f.changed(info)) {
		return c
	}
	if mode(info) != m {
		err = os.Chmod(resolved, m)
	}
	if !info.ModTime().Equal(mtime) {
		err = errors.Join(err, os.Chtimes(resolved, time.Time{}, mtime))
	}
	if err != nil {
		f.log.Warn("mode and time of a file could not be put back", zap.String("path", resolved), zap.Error(err))
	}
	after, err := os.Lstat(resolved)
	if err != nil || !os.SameFile(info, after) || after.Size() != info.Size() {
		return c
	}
	kept := *c
	kept.info, kept.changed = after, f.changed(after)
	return &kept
}

// mode returns the part of a file's mode that is preserved.
func mode(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() }
