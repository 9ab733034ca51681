// Files are read to show how they change, within bounds of time, size and number. A change is shown without the text of a file that cannot be read in time, such
// as one on a dead mount.

package session

import (
	"context"
	"errors"
	"io/fs"
	"time"
	"unicode/utf8"

	"droid-acp/internal/render"
	"droid-acp/internal/sys/files"
)

const (
	// maxShownFile bounds one file that is read to show a change, in bytes.
	maxShownFile = 1 << 20
	// maxReadAtOnce ends the reading for one event once more than that was read, in bytes.
	maxReadAtOnce = 16 << 20
	// shownFilesTime is how long what is to be shown waits for the files that belong to it.
	shownFilesTime = 500 * time.Millisecond
	// maxReadings bounds the files that are being read at once.
	maxReadings = 16
	// reading names the reading of such a file; TestReadingsThatHangAreBounded has it hang.
	reading files.CallName = "a file to show"
	// resolving names the resolving of a path.
	resolving files.CallName = "where a path leads"
)

// FileReader reads files in the background, within bounds of time and number.
type FileReader struct {
	readText func(path string) render.File     // may hang
	resolve  func(path string) (string, error) // may hang
	readings *files.CallLimiter
}

// NewFileReader makes a fileReader of the disk.
func NewFileReader() *FileReader { return newFileReader(readText) }

// newFileReader makes a fileReader that reads each file by readText, which may hang.
func newFileReader(readText func(path string) render.File) *FileReader {
	return &FileReader{readText: readText, resolve: files.Resolve, readings: files.NewCallLimiter(maxReadings, 2*shownFilesTime)} // Read ends them sooner
}

// Read returns the texts of those files that can be read within half a second.
func (f *FileReader) Read(ctx context.Context, paths []string) render.Files {
	ctx, cancel := context.WithTimeout(ctx, shownFilesTime)
	defer cancel()
	texts, size := make(render.Files), 0
	for _, path := range paths {
		if _, again := texts[path]; again {
			continue
		}
		if size > maxReadAtOnce || ctx.Err() != nil {
			return texts
		}
		t, _ := files.CallBounded(ctx, f.readings, reading, path, func(path string) (render.File, error) { return f.readText(path), nil }) // nothing when it hangs
		texts[path] = t
		if t.Text != nil {
			size += len(*t.Text)
		}
	}
	return texts
}

// ReadResolved is Read that also resolves paths, within another half second.
func (f *FileReader) ReadResolved(ctx context.Context, texts, requested []string) render.Files {
	read := f.Read(ctx, texts)
	for path, real := range f.Resolve(ctx, requested) {
		file := read[path]
		file.Real = real
		read[path] = file
	}
	return read
}

// Resolve returns the real paths of those that could be resolved within half a second.
func (f *FileReader) Resolve(ctx context.Context, paths []string) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, shownFilesTime)
	defer cancel()
	real := make(map[string]string)
	for _, path := range paths {
		to, err := files.CallBounded(ctx, f.readings, resolving, path, f.resolve)
		if err == nil {
			real[path] = to
		}
	}
	return real
}

// readText reads a file to show how it changes. It returns nothing for a file that is too
// large, not regular, or not text.
func readText(path string) render.File {
	data, err := files.Read(path, maxShownFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !files.IsKernelPath(path):
		return render.File{Known: true}
	case err != nil || !utf8.Valid(data):
		return render.File{}
	}
	text := string(data)
	return render.File{Text: &text, Known: true}
}
