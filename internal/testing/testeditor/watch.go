package testeditor

import (
	"cmp"
	"errors"
	"io/fs"
	"time"
)

// poll is how often the editor checks the files on the disk by default.
const poll = 20 * time.Millisecond

// watch detects changes on the disk, until the editor is closed.
func (e *Editor) watch() {
	tick := time.NewTicker(cmp.Or(e.o.Poll, poll))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.look()
		case <-e.ctx.Done():
			return
		}
	}
}

// look compares all open files with their last seen state.
func (e *Editor) look() {
	type before struct {
		saves int
		seen  state
	}
	open := make(map[*buffer]before)
	e.mu.Lock()
	for _, f := range e.files {
		if b := f.buffer; b != nil && !b.saving {
			open[b] = before{b.saves, b.seen}
			b.seen.looks++
		}
	}
	e.mu.Unlock()
	for b, was := range open {
		if was.seen.looks > settled && was.seen.unchanged(b.path) {
			continue
		}
		now := probe(b.path)
		e.mu.Lock()
		news := b.saves == was.saves && !b.saving && !now.same(b.seen)
		if news {
			b.seen = now
		}
		e.mu.Unlock()
		if news {
			e.spawn(func() {
				if e.wait(after(e.o.Delay)) {
					e.reload(b)
				}
			})
		}
	}
}

// reload loads the text on the disk into the buffer, unless it has unsaved changes. It cancels the previous reload if that is not complete.
func (e *Editor) reload(b *buffer) {
	content, seen, err := load(b.path)
	e.mu.Lock()
	if errors.Is(err, fs.ErrNotExist) {
		b.exists, b.deleted, b.review = false, true, nil
	}
	begin := err == nil && !b.dirty()
	if begin {
		b.loads++
	}
	this := b.loads
	e.mu.Unlock()
	if !begin {
		return
	}
	l, err := decode(content)
	if !e.wait(after(e.o.Load)) || err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if b.loads != this {
		return
	}
	b.apply(difference(b.text, l.text), user)
	b.crlf, b.bom, b.seen, b.loaded, b.saved, b.exists, b.deleted = l.crlf, l.bom, seen, seen, b.version, true, false
}
