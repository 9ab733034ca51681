package editorfs

import (
	"context"
	"errors"
)

var errLate = errors.New("the editor has not answered in time")

// readEditor reads a file through the editor: its text with \n or \r\n at the ends of lines. An
// error other than errLate is the editor's.
func (d *Overlay) readEditor(ctx context.Context, path string) (string, error) {
	return readText(ctx, d.editor, path)
}

func readText(ctx context.Context, editor Editor, path string) (string, error) {
	if ctx.Err() != nil {
		return "", errLate
	}
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	withdraw := editor.ReadTextFile(path, func(text string, err error) { answered <- answer{text, err} })
	select {
	case a := <-answered:
		if a.err != nil {
			return "", a.err
		}
		text, _, err := readable([]byte(a.text))
		return text, err
	case <-ctx.Done():
		withdraw() // nobody wants a late answer
		return "", errLate
	}
}

// writeEditor writes a file through the editor. When ctx is done first the error is errLate, and
// the request goes on: its answer comes from the channel.
func (d *Overlay) writeEditor(ctx context.Context, path, text string) (<-chan error, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err() // nothing was asked
	}
	answered := make(chan error, 1)
	d.editor.WriteTextFile(path, text, func(err error) { answered <- err })
	select {
	case err := <-answered:
		return nil, err
	case <-ctx.Done():
		return answered, errLate
	}
}
