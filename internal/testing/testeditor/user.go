package testeditor

import (
	"os"
	"sort"
)

// Open opens a file, as a user does. One that does not exist is a *NotFoundError.
func (e *Editor) Open(path string) error {
	_, err := e.open(path, false)
	return err
}

// Type changes the text of a file, which it opens if needed, without saving. change gets the text and returns the new one, with \n as
// line ends.
func (e *Editor) Type(path string, change func(text string) string) error {
	b, err := e.open(path, false)
	if err != nil {
		return err
	}
	e.mu.Lock()
	from := b.snapshot()
	e.mu.Unlock()
	e.change(b, from, change(from.text), user)
	return nil
}

// Save formats an open file and writes it to the disk, whatever is there.
func (e *Editor) Save(path string) error {
	e.mu.Lock()
	b := e.buffer(path)
	e.mu.Unlock()
	if b == nil {
		return &NotFoundError{path}
	}
	return e.save(b, user)
}

// Buffer returns the text of a file as the user sees it, if it is open.
func (e *Editor) Buffer(path string) (text string, open bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.buffer(path); b != nil {
		return b.text, true
	}
	return "", false
}

// Asked returns how often the user was asked whether to reload a file.
func (e *Editor) Asked() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked
}

// Dirty reports whether a file has unsaved changes.
func (e *Editor) Dirty(path string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.buffer(path)
	return b != nil && b.dirty()
}

// Deleted reports whether the editor has noticed that an open file was removed from the disk.
func (e *Editor) Deleted(path string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.buffer(path)
	return b != nil && b.deleted
}

// Review returns what the list of changes shows for a file: the text without the agent's edits, the text of the buffer, and whether the
// file is listed. Edits of the user are in both texts, unless they are in lines that the agent has changed.
func (e *Editor) Review(path string) (base, now string, listed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.buffer(path)
	if b == nil || !b.listed() {
		return "", "", false
	}
	return b.review.base, b.text, true
}

// Listed returns the files in the list of changes, sorted.
func (e *Editor) Listed() (paths []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for path := range e.files {
		if b := e.buffer(path); b != nil && b.listed() {
			paths = append(paths, path)
		}
	}
	sort.Strings(paths)
	return paths
}

// listed reports whether the list of changes has the file.
func (b *buffer) listed() bool {
	return b.review != nil && (b.review.created || b.review.base != b.text)
}

// Keep removes a file from the list of changes and changes nothing else.
func (e *Editor) Keep(path string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.buffer(path); b != nil {
		b.review = nil
	}
}

// Reject reverts the agent's edits of a file, saves it and removes it from the list. A file created by the agent is closed and deleted,
// unless the user has edited it: then it is unchanged.
func (e *Editor) Reject(path string) error {
	e.mu.Lock()
	b := e.buffer(path)
	if b == nil || !b.listed() {
		e.mu.Unlock()
		return nil
	}
	r := *b.review
	b.review = nil
	switch {
	case r.created && r.mixed:
		e.mu.Unlock()
		return nil
	case r.created:
		delete(e.files, b.path)
		e.mu.Unlock()
		return os.Remove(b.path)
	}
	b.apply(difference(b.text, r.base), user)
	e.mu.Unlock()
	return e.write(b)
}
