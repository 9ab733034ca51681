package background

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/sys/subprocess"
	"droid-acp/internal/text/visible"
)

const (
	// lookEvery is the interval at which a command and its output are looked at.
	lookEvery = 500 * time.Millisecond
	// StopTime is how long a command has to end by itself that is stopped.
	StopTime = 2 * time.Second
	// most is how much of what a command has written between two looks is read, in bytes.
	most = 32 << 10
	// mostWords is how much of the end of its output is sent in a message, in bytes.
	mostWords = 2 << 10
)

// Pause waits until it is time for the next look.
func Pause(ctx context.Context) { subprocess.Sleep(ctx, lookEvery) }

// Watch looks at one command. Its methods read files; one goroutine calls them at a time.
type Watch struct {
	Process droid.BackgroundCommand // nil where it had ended before
	Unread  error                   // why what it writes cannot be read

	output *os.File // nil then
}

// Begin begins to watch a command of a droid, by the id of its process and the file with its output. An error says
// that it cannot be watched.
func Begin(client *droid.Client, id int, output string) (*Watch, error) {
	process, err := client.FindBackground(id)
	if err != nil {
		return nil, err
	}
	w := &Watch{Process: process}
	w.output, w.Unread = droid.OpenOutput(output)
	return w, nil
}

// Look is an observation of a command.
type Look struct {
	Runs      bool
	Piece     string // what it has written since the last look
	LastWords string // the last lines that it wrote, if it has ended
	At        int64  // how much it had written up to the end of Piece
}

// Look looks at the command, and at what it has written since at: where reads is false only once it has ended. It changes
// nothing: what comes of one that hangs is not used.
func (w *Watch) Look(reads bool, at int64) (l Look) {
	l.At = at
	l.Runs = w.Process != nil && w.Process.Runs() // before the output: what it writes last is read
	if reads || !l.Runs {
		l.Piece, l.At = w.read(l.Runs, at)
	}
	if !l.Runs {
		l.LastWords = w.lastWords()
	}
	return l
}

// read returns what was written since at, as valid UTF-8 and cut to its end if it is long, and the offset behind it. more says that more
// may be there: an incomplete character is left for the next read.
func (w *Watch) read(more bool, at int64) (string, int64) {
	data, from := w.end(at, most)
	if more {
		data = data[:visible.CompleteLen(data)]
	}
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	if from > at {
		text = fmt.Sprintf("\n[… %d bytes left out …]\n", from-at) + text
	}
	return text, from + int64(len(data))
}

func (w *Watch) lastWords() string {
	data, from := w.end(0, mostWords)
	if _, lines, cut := bytes.Cut(data, []byte("\n")); cut && from > 0 && len(lines) > 0 {
		data = lines
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}

// end returns the end of what the command has written since at, so many bytes at most, and where that begins. What cannot be
// read is not shown.
func (w *Watch) end(at, limit int64) (data []byte, from int64) {
	if w.output == nil {
		return nil, at
	}
	info, err := w.output.Stat()
	if err != nil || info.Size() <= at {
		return nil, at
	}
	from = max(at, info.Size()-limit)
	data = make([]byte, info.Size()-from)
	n, _ := w.output.ReadAt(data, from)
	return data[:n], from
}

// Close lets go of the file.
func (w *Watch) Close() {
	if w.output != nil {
		_ = w.output.Close() // it was only read
	}
}
