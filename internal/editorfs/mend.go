package editorfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// mendPatience is how long an entry's file may be held by another edit until the entry is left
// for the next agent.
const mendPatience = 100 * time.Millisecond

// mend ends what agents that were killed have begun. Entries whose agent lives are
// locked, and left alone; so are those that another agent mends.
func (f *Files) mend(names []fs.DirEntry) {
	for _, name := range names {
		path := filepath.Join(f.journal, name.Name())
		switch {
		case !name.Type().IsRegular():
		case isEntry(name.Name()):
			f.mendOne(path)
		case strings.HasSuffix(path, lockEnd), strings.HasSuffix(path, halfEnd):
			if file, mine, ok := claim(path); ok {
				unlock(file, mine)
			}
		}
	}
}

// quiet is how long after an agent that was killed had given the editor a text the editor may
// still do that write. If it comes when the file was mended, and the editor has
// reloaded it, the edit is there twice.
const quiet = time.Second

// awaitQuiet waits while the old text is on disk that an editor may be about to replace. sent is
// when it was told to, at the earliest.
func (f *Files) awaitQuiet(e entry, sent time.Time) {
	for {
		since := time.Since(sent)
		if since < -f.quiet || since >= f.quiet {
			return
		}
		c, err := f.look(e.Resolved)
		if waits := c != nil && sum(c.text) == e.Old || e.New && errors.Is(err, fs.ErrNotExist); !waits {
			return
		}
		if !pause(f.ctx, min(pollEvery, f.quiet-since)) {
			return
		}
	}
}

// errNotDir: a directory above a file has become a file.
const errNotDir = syscall.ENOTDIR

// mendOne mends one entry. What cannot be mended now stays for the next agent.
func (f *Files) mendOne(path string) {
	file, path, ok := claim(path)
	if !ok {
		return
	}
	r := &record{file, path}
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
	if err == nil {
		err = f.mendFile(e, text, began.ModTime())
	}
	if err != nil {
		f.log.Error("an edit that was interrupted cannot be completed; it is tried again with the next start", zap.String("path", e.Path), zap.Error(err))
		return
	}
	r.forget()
}

// mendFile removes the temporary file, and puts the new text on disk if the old one is
// there. began is when the edit did.
func (f *Files) mendFile(e entry, text string, began time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), mendPatience)
	defer cancel()
	release, err := f.hold(ctx, e.Resolved)
	if err != nil {
		return err
	}
	defer release()
	f.awaitQuiet(e, began)
	for _, beside := range []string{e.Resolved, e.Path} {
		temp := filepath.Join(filepath.Dir(beside), e.Temp)
		if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotDir) {
			return err
		}
	}
	now, interrupted := f.interrupted(e, text, began)
	if !interrupted {
		f.log.Info("an edit was interrupted; its file has another text, and is left alone", zap.String("path", e.Path))
		return nil
	}
	if now != nil && now.text == text {
		return nil
	}
	s, err := stage(e.Resolved, text, fs.FileMode(e.Mode))
	if err != nil {
		return err
	}
	defer s.close()
	s.last = true
	err = f.put(e.Resolved, e.Temp, s, f.step, func() error {
		if again, still := f.interrupted(e, text, began); !still || (again == nil) != (now == nil) {
			return errBusy
		}
		return nil
	})
	if err == nil {
		f.log.Info("an edit that was interrupted is completed", zap.String("path", e.Path))
	}
	return err
}

// interrupted reports whether a file has the text from before the edit, the new one, or a part
// of it that an editor left which was killed while it wrote. The content is nil for a
// new file that is missing.
func (f *Files) interrupted(e entry, text string, began time.Time) (*content, bool) {
	if e.New {
		if _, err := os.Lstat(filepath.Dir(e.Resolved)); err != nil {
			return nil, false
		}
		if _, err := os.Lstat(e.Resolved); errors.Is(err, fs.ErrNotExist) {
			return nil, true
		}
	}
	now, _ := f.look(e.Resolved) // part of a text may be no text
	if now == nil {
		return nil, false
	}
	if now.text == text || !e.New && sum(now.text) == e.Old {
		return now, true
	}
	during := !now.changed.Before(began.Add(-time.Second)) && now.changed.Before(began.Add(3*f.wait))
	torn := strings.HasPrefix(text, now.text) || strings.HasPrefix(plain(text), now.text)
	return now, torn && during
}
