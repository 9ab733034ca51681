package testeditor

import (
	"context"
	"os"
)

// answer is the answer to a request.
type answer struct {
	text string
	err  error
}

// ReadTextFile is fs/read_text_file: it returns the text of the buffer with unsaved changes, and remembers it for the comparison with the
// next write. A file that does not exist is a *NotFoundError. When the context ends, so does the wait; the editor is not notified and
// completes the request.
func (e *Editor) ReadTextFile(ctx context.Context, path string) (string, error) {
	return e.request(ctx, ReadMethod, path, func() (string, error) {
		b, err := e.open(path, false)
		if err == nil {
			err = e.checkTime(b)
		}
		if err != nil {
			return "", err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		read := b.snapshot()
		b.read = &read
		return b.text, nil
	})
}

// WriteTextFile is fs/write_text_file: it applies the difference between what was read last (the buffer, if nothing was) and the text to
// the buffer, as the agent's edit, and saves it, formatted. If the save fails, the edit stays in the buffer. For the context see
// ReadTextFile.
func (e *Editor) WriteTextFile(ctx context.Context, path, text string) error {
	_, err := e.request(ctx, WriteMethod, path, func() (string, error) {
		b, err := e.open(path, true)
		if err == nil {
			err = e.checkTime(b)
		}
		if err == nil && e.o.BypassBuffer {
			_, err = store(b.path, []byte(text))
			return "", err
		}
		if err != nil {
			return "", err
		}
		e.mu.Lock()
		from := b.snapshot()
		if b.read != nil {
			from = *b.read
		}
		e.mu.Unlock()
		e.change(b, from, normalized(text), agent)
		return "", e.save(b, agent)
	})
	return err
}

// checkTime asks the user if a file has a time other than the editor knows.
func (e *Editor) checkTime(b *buffer) error {
	if !e.o.ChecksTimes {
		return nil
	}
	now, err := os.Stat(b.path)
	e.mu.Lock()
	defer e.mu.Unlock()
	known := b.loaded.info
	if err != nil && known == nil || err == nil && known != nil && now.ModTime().Equal(known.ModTime()) {
		return nil
	}
	e.asked++
	return ErrAsks
}

// request executes a request in a goroutine, so that it continues without the caller.
func (e *Editor) request(ctx context.Context, method, path string, work func() (string, error)) (string, error) {
	done := make(chan answer, 1)
	if !e.spawn(func() {
		text, err := e.carryOut(method, path, work)
		done <- answer{text, err}
	}) {
		return "", ErrClosed
	}
	select {
	case a := <-done:
		return a.text, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (e *Editor) carryOut(method, path string, work func() (string, error)) (string, error) {
	if e.o.Slow != nil && !e.wait(e.o.Slow(method, path)) {
		return "", ErrClosed
	}
	if e.o.Fail != nil {
		if err := e.o.Fail(method, path); err != nil {
			return "", err
		}
	}
	if e.ctx.Err() != nil {
		return "", ErrClosed
	}
	text, err := work()
	if e.o.Late != nil && !e.wait(e.o.Late(method, path)) {
		return "", ErrClosed
	}
	return text, err
}
