package editorfs

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
)

var errLate = errors.New("the editor has not answered in time")

// readEditor reads a file through the editor: its text with the line ending "\n" or "\r\n". Errors other than errLate are the editor's.
func (d *Overlay) readEditor(ctx context.Context, path string) (string, error) {
	return readText(ctx, d.editor, path)
}

func readText(ctx context.Context, editor ACPClient, path string) (string, error) {
	if ctx.Err() != nil {
		return "", errLate
	}
	said, err := editor.ReadTextFile(ctx, path)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", errLate
	case err != nil:
		return "", err
	}
	text, _, err := readable([]byte(said))
	return text, err
}

// writeEditor writes a file through the editor. If ctx is done first, the error is errLate and the request continues: its result arrives on
// the channel.
func (d *Overlay) writeEditor(ctx context.Context, path, text string) (<-chan error, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err() // nothing was sent
	}
	answered := d.editor.WriteTextFile(path, text)
	select {
	case err := <-answered:
		return nil, err
	case <-ctx.Done():
		return answered, errLate
	}
}

// isSilent reports whether the editor is currently not asked for reads, because it did not answer the last one in time.
func (d *Overlay) isSilent() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed || time.Now().Before(d.silent)
}

// markSilent records that the editor did not answer before ctx's deadline.
func (d *Overlay) markSilent(ctx context.Context) {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.silent = time.Now().Add(silence)
}

// distrust excludes a file from the editor for the rest of the session. It is called when the editor did not have the text that it had just
// written: it bypasses its buffer, which is out of date or has unsaved text, so its answers for the file are unreliable.
func (d *Overlay) distrust(at location) {
	d.files.log.Info("the editor does not have the text that it has written; the file is read and written on the disk alone from now on", zap.String("path", at.path))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stale[at.resolved] = true
}

// trusts reports whether the editor is asked about a file.
func (d *Overlay) trusts(resolved string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.stale[resolved]
}
