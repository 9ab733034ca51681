package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/cli/flags"
	"droid-acp/internal/droid"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/visible"
)

// logFileTime limits how long opening the log file may take: a pipe opens when it is read, a dead mount never does.
const logFileTime = 2 * time.Second

// logger makes the log: short lines on stderr, and JSON lines in the log file if there is one. Neither contains prompts or answers, and the
// file contains no names of project files unless the level is debug. Logging never blocks. closeLog writes what is queued.
func (c *invocation) logger(stderr io.Writer) (log *zap.Logger, closeLog func(), err error) {
	toStderr, toFile := zapcore.WarnLevel, zapcore.InfoLevel
	encoder := lineEncoder()
	if c.values[logJSON] != nil && c.values.Bool(logJSON) { // a flag of serve
		toStderr, encoder, stderr = zapcore.InfoLevel, jsonEncoder(), safeJSON{stderr}
	}
	if named := c.values.String(flags.LogLevel); named != "" {
		level, err := zapcore.ParseLevel(named)
		if err != nil {
			return nil, nil, err // flags.Common allows no other levels
		}
		toStderr, toFile = level, level
	}
	var file *os.File
	if path := c.values.String(flags.LogFile); path != "" {
		if file, err = openLogFile(path); err != nil {
			return nil, nil, fmt.Errorf("the log file (%s) cannot be opened: %w", c.values.Source(flags.LogFile), err)
		}
	}
	core, closeStderr := logTo(stderr, encoder, toStderr, true)
	c.recentLog = new(recentLines)
	recent := redactingCore{Core: zapcore.NewCore(recentEncoder(), c.recentLog, zapcore.InfoLevel)}
	if file == nil {
		return zap.New(zapcore.NewTee(core, recent)), closeStderr, nil
	}
	fileCore, closeFile := logTo(safeJSON{file}, jsonEncoder(), toFile, toFile == zapcore.DebugLevel)
	return zap.New(zapcore.NewTee(core, recent, fileCore)), func() {
		closeStderr()
		closeFile()
		_ = file.Close() // what could be written is written
	}, nil
}

func lineEncoder() zapcore.Encoder {
	return zapcore.NewConsoleEncoder(zapcore.EncoderConfig{
		MessageKey: "msg", LevelKey: "level", NameKey: "name", LineEnding: "\n",
		EncodeLevel: func(l zapcore.Level, enc zapcore.PrimitiveArrayEncoder) {
			enc.AppendString("droid-acp " + l.String() + ":")
		},
		EncodeDuration: zapcore.StringDurationEncoder, ConsoleSeparator: " ",
	})
}

// recentEncoder is lineEncoder with times.
func recentEncoder() zapcore.Encoder {
	return zapcore.NewConsoleEncoder(zapcore.EncoderConfig{
		TimeKey: "time", MessageKey: "msg", LevelKey: "level", LineEnding: "\n", EncodeLevel: zapcore.LowercaseLevelEncoder,
		EncodeTime: zapcore.TimeEncoderOfLayout("15:04:05.000"), EncodeDuration: zapcore.StringDurationEncoder, ConsoleSeparator: " ",
	})
}

// recentLines is a zapcore.WriteSyncer that keeps the last lines of the log, for a report.
type recentLines struct {
	mu   sync.Mutex
	kept []string
}

// Bounds of recentLines.
const (
	maxRecent     = 200
	maxRecentLine = 2 << 10 // bytes
)

// Write implements zapcore.WriteSyncer; it is called with one entry.
func (r *recentLines) Write(entry []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := visible.Text(strings.TrimSuffix(string(entry[:min(len(entry), maxRecentLine)]), "\n"))
	r.kept = append(r.kept[max(0, len(r.kept)-maxRecent+1):], line)
	return len(entry), nil
}

// Sync implements zapcore.WriteSyncer.
func (r *recentLines) Sync() error { return nil }

func (r *recentLines) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.kept)
}

func jsonEncoder() zapcore.Encoder {
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	return zapcore.NewJSONEncoder(config)
}

// logTo returns a core that writes to w through a logWriter, with or without file names.
func logTo(w io.Writer, encoder zapcore.Encoder, level zapcore.Level, names bool) (core zapcore.Core, closeIt func()) {
	writer := newLogWriter(w, func(n int) []byte {
		line, err := encoder.EncodeEntry(zapcore.Entry{
			Level: zapcore.WarnLevel, Time: time.Now(),
			Message: "log lines were lost here, because nobody read them in time",
		}, []zapcore.Field{zap.Int("lines", n)})
		if err != nil {
			return nil
		}
		defer line.Free()
		return bytes.Clone(line.Bytes())
	})
	return redactingCore{zapcore.NewCore(encoder, writer, level), names}, func() { writer.close() }
}

// safeJSON writes whole lines of JSON, safe to show, since log files are read in terminals.
type safeJSON struct{ to io.Writer }

func (w safeJSON) Write(lines []byte) (int, error) {
	if _, err := io.WriteString(w.to, visible.JSONLine(string(lines))); err != nil {
		return 0, err
	}
	return len(lines), nil
}

// redactingCore removes the texts of others, which may be part of a prompt or an answer, and, unless names is set, file names, for a log
// that is shown to others.
type redactingCore struct {
	zapcore.Core
	names bool
}

func (d redactingCore) With(fields []zapcore.Field) zapcore.Core {
	return redactingCore{d.Core.With(d.redacted(fields)), d.names}
}

func (d redactingCore) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if d.Enabled(e.Level) {
		return to.AddCore(e, d)
	}
	return to
}

func (d redactingCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	return d.Core.Write(e, d.redacted(fields))
}

// fieldPath is the field with the file that a line concerns.
const fieldPath = "path"

func (d redactingCore) redacted(fields []zapcore.Field) []zapcore.Field {
	fields = slices.Clone(fields) // other cores get them, too
	var hidden []string
	for i, f := range fields {
		if !d.names && f.Key == fieldPath && f.Type == zapcore.StringType {
			hidden, fields[i] = append(hidden, f.String), zap.Skip()
		}
	}
	for i, f := range fields {
		err, ok := f.Interface.(error)
		if !ok || f.Type != zapcore.ErrorType {
			continue
		}
		text := redactText(err)
		if !d.names {
			text = redactPaths(err, text)
			for _, name := range hidden {
				text = strings.ReplaceAll(text, name, "…")
			}
		}
		fields[i] = zap.String(f.Key, text)
	}
	return fields
}

// redactText returns the text of an error without texts of droid or the editor.
func redactText(err error) string {
	text := droid.LogText(err)
	refused, is := errors.AsType[*jsonrpc.Error](err)
	if !is {
		return text
	}
	instead := fmt.Sprintf("error %d", refused.Code)
	if kind := acperr.KindOf(refused); kind != "" {
		instead += " (" + kind + ")"
	}
	return strings.ReplaceAll(text, refused.Error(), instead)
}

// redactPaths returns the text of an error without the file names in it.
func redactPaths(err error, text string) string {
	switch e := err.(type) {
	case *fs.PathError:
		text = strings.ReplaceAll(text, e.Error(), e.Op+": "+e.Err.Error())
	case *os.LinkError:
		text = strings.ReplaceAll(text, e.Error(), e.Op+": "+e.Err.Error())
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return redactPaths(e.Unwrap(), text)
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			text = redactPaths(part, text)
		}
	}
	return text
}

// openLogFile opens the file, or gives up after logFileTime.
func openLogFile(path string) (*os.File, error) {
	file, err := files.CallBounded(context.Background(), files.NewCallLimiter(1, logFileTime), "the log", path, func(path string) (*os.File, error) {
		return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	})
	if errors.Is(err, files.ErrHangs) { // its caller exits
		err = fmt.Errorf("%s did not open within %v; is it a pipe that nobody reads, or on a file system that does not answer?", path, logFileTime)
	}
	return file, err
}

// logged runs a command with a log, and logs its start.
func (c *invocation) logged(run func(log *zap.Logger) int) int {
	log, closeLog, err := c.logger(c.stderr)
	if err != nil {
		return c.wrong(err)
	}
	defer closeLog()
	c.logStart(log)
	return run(log)
}

// logStart logs the running program and its version, and unknown variables.
func (c *invocation) logStart(log *zap.Logger) {
	log.Info("droid-acp has started", zap.String("version", version()), zap.String("command", c.cmd.Name()),
		zap.String("system", runtime.GOOS+"/"+runtime.GOARCH), zap.String("go", runtime.Version()))
	for _, sentence := range c.unknownVariables {
		log.Warn(sentence)
	}
}
