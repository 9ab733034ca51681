package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/cli/trace"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/redact"
	"droid-acp/internal/sys/files"
)

// tracing records the messages of an agent; the zero value records nothing.
type tracing struct{ recorder *trace.Recorder }

// traced runs a command with the trace that --trace names.
func (c *invocation) traced(log *zap.Logger, run func(tracing) int) int {
	path := c.values.String(flags.Trace)
	if path == "" {
		return run(tracing{})
	}
	file, err := openTraceFile(path)
	if err != nil {
		return c.wrong(fmt.Errorf("the trace (%s) cannot be written: %w", c.values.Source(flags.Trace), err))
	}
	recorder := trace.NewRecorder(file, redact.New(os.Environ(), droid.Home(os.Environ())), func(err error) {
		log.Warn("the trace cannot be written; lines are missing in it", zap.Error(err))
	})
	fmt.Fprintf(c.stderr, "droid-acp: recording all messages in %s: prompts, answers and texts of files are in it\n", path)
	defer func() {
		if recorder.Close() { // else a write to the file has not returned, and Close would wait for it
			_ = file.Close() // what could be written is written
		}
	}()
	return run(tracing{recorder})
}

// openTraceFile opens the file, or gives up after logFileTime.
func openTraceFile(path string) (*files.RotatingFile, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	file, err := files.CallBounded(context.Background(), files.NewCallLimiter(1, logFileTime), "the trace", path, func(path string) (*files.RotatingFile, error) {
		return files.OpenRotating(path, trace.Mark, trace.MaxFile, func() []byte { return trace.NewHead(version()) })
	})
	if errors.Is(err, files.ErrHangs) { // its caller exits
		err = fmt.Errorf("%s did not open within %v; is it on a file system that does not answer?", path, logFileTime)
	}
	return file, err
}

// editor returns the streams of the editor, recorded.
func (t tracing) editor(in io.Reader, out io.Writer) (io.Reader, io.Writer) {
	if t.recorder == nil {
		return in, out
	}
	return t.recorder.Reader(in, trace.Editor, 0), t.recorder.Writer(out, trace.Editor, 0)
}

// droid makes the messages of a droid be recorded.
func (t tracing) droid(command *droid.Command) {
	if t.recorder != nil {
		command.Trace = t.recorder.Droid
	}
}
