package editorfs

import (
	"context"
	"errors"
	"fmt"
)

// answer is what the editor has said to a request.
type answer struct {
	text string
	err  error
}

var errLate = errors.New("the editor has not answered in time")

// start has the editor do something beside the caller, who gets the answer from the channel. A
// panic is an error. Close waits for it.
func (f *Files) start(request func() (string, error)) <-chan answer {
	done := make(chan answer, 1)
	f.work.Go(func() {
		a := answer{err: errors.New("the editor's request has panicked")}
		defer func() {
			if r := recover(); r != nil {
				a.err = fmt.Errorf("the editor's request has panicked: %v", r)
			}
			done <- a
		}()
		a.text, a.err = request()
	})
	return done
}

// ask reads a file through the editor: its text with \n or \r\n at the ends of lines. An
// error other than errLate is the editor's.
func (d *Desk) ask(ctx context.Context, path string) (string, error) {
	if ctx.Err() != nil {
		return "", errLate
	}
	reading, cancel := context.WithCancel(d.files.ctx)
	defer cancel() // nobody wants a late answer
	select {
	case a := <-d.files.start(func() (string, error) { return d.editor.ReadTextFile(reading, path) }):
		if a.err != nil {
			return "", a.err
		}
		text, _, err := readable([]byte(a.text))
		return text, err
	case <-ctx.Done():
		return "", errLate
	}
}

// tell writes a file through the editor. When ctx is done first the error is errLate, and
// the request goes on: its answer comes from the channel.
func (d *Desk) tell(ctx context.Context, path, text string) (<-chan answer, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err() // nothing was asked
	}
	done := d.files.start(func() (string, error) { return "", d.editor.WriteTextFile(d.files.ctx, path, text) })
	select {
	case a := <-done:
		return nil, a.err
	case <-ctx.Done():
		return done, errLate
	}
}
