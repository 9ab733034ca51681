package editorfs

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"droid-acp/internal/files"
)

// Shadow is a private file with a text that the user has not saved.
type Shadow struct {
	Path string // read it before Close

	once   sync.Once
	remove func()
	desk   *Desk
}

// Close removes the file. It may be called twice.
func (s *Shadow) Close() {
	s.once.Do(func() {
		s.desk.mu.Lock()
		_, open := s.desk.shadows[s]
		delete(s.desk.shadows, s)
		s.desk.mu.Unlock()
		if open { // else Desk.Close has removed it
			s.remove()
		}
	})
}

// Read says what droid is to read in place of the file: nothing (nil), which is the
// disk, or a shadow with the unsaved text. Nothing is saved. It waits at most
// as long as Wait; then the disk is right. The error, if there is one, says why an unsaved
// text cannot be shown.
func (d *Desk) Read(ctx context.Context, path string) (*Shadow, error) {
	ctx, cancel := context.WithTimeout(ctx, d.files.wait)
	defer cancel()
	at, err := resolve(path)
	if err == nil && d.files.mendAgain(at.resolved) {
		at, err = resolve(path)
	}
	if err != nil || !at.exists {
		return nil, nil
	}
	c, buffer, v := d.unsaved(ctx, at)
	if v != unsaved {
		if info, err := os.Lstat(at.resolved); err == nil {
			d.knows(at.resolved, func(k *known) { *k = known{mtime: info.ModTime()} })
		}
		return nil, nil
	}
	text := withEnds(plain(buffer), c.ends)
	s, err := d.shadow(text)
	if err != nil {
		return nil, err
	}
	d.knows(at.resolved, func(k *known) {
		k.text, k.told = d.files.exact(text), true
		if k.mtime == (time.Time{}) {
			k.mtime = c.info.ModTime()
		}
	})
	return s, nil
}

// unsaved asks the editor about a file, when no edit is on its way there.
func (d *Desk) unsaved(ctx context.Context, at location) (*content, string, verdict) {
	d.files.Settled(ctx, []string{at.path})
	if d.o.KeepTimes { // while an edit has the file, it may have another mtime than the editor knows
		leave, err := d.files.enter(ctx, at.resolved)
		if err != nil {
			return nil, "", disk
		}
		defer leave()
	}
	if ctx.Err() != nil || d.files.lateAt(at.resolved) != nil || d.isSilent() || !d.trusts(at.resolved) {
		return nil, "", disk
	}
	c, buffer, v, err := d.compare(ctx, at)
	if errors.Is(err, errLate) {
		d.wasSilent(ctx)
	}
	if err != nil {
		d.debug("the editor cannot say what is unsaved", at, err)
	}
	return c, buffer, v
}

// shadow makes a shadow that ends with the desk at the latest.
func (d *Desk) shadow(text string) (*Shadow, error) {
	file, err := files.NewPrivate("unsaved", []byte(text))
	if err != nil {
		return nil, err
	}
	s := &Shadow{desk: d, Path: file.Path, remove: file.Close}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		s.remove()
		return nil, context.Canceled
	}
	d.shadows[s] = true
	return s, nil
}
