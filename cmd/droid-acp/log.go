package main

import (
	"fmt"
	"io"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logger makes the log: short lines on stderr, JSON lines in the log file if
// there is one. Neither holds prompts or answers. close flushes it.
func (c *commonFlags) logger(stderr io.Writer) (log *zap.Logger, closeLog func(), err error) {
	toStderr, toFile := zapcore.WarnLevel, zapcore.InfoLevel
	if c.logLevel != "" {
		level, err := zapcore.ParseLevel(c.logLevel)
		if err != nil || level > zapcore.ErrorLevel {
			return nil, nil, fmt.Errorf("invalid value %q for flag -log-level: debug, info, warn or error", c.logLevel)
		}
		toStderr, toFile = level, level
	}
	console := zapcore.NewConsoleEncoder(zapcore.EncoderConfig{
		MessageKey: "msg", LevelKey: "level", NameKey: "name", LineEnding: "\n",
		EncodeLevel: func(l zapcore.Level, enc zapcore.PrimitiveArrayEncoder) {
			enc.AppendString("droid-acp " + l.String() + ":")
		},
		EncodeDuration: zapcore.StringDurationEncoder, ConsoleSeparator: " ",
	})
	core := zapcore.NewCore(console, zapcore.Lock(zapcore.AddSync(stderr)), toStderr)
	closeLog = func() {}
	if c.logFile != "" {
		file, err := os.OpenFile(c.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("the log file cannot be opened: %w", err)
		}
		encoder := zap.NewProductionEncoderConfig()
		encoder.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		core = zapcore.NewTee(core, zapcore.NewCore(zapcore.NewJSONEncoder(encoder), zapcore.Lock(file), toFile))
		closeLog = func() { _ = file.Close() } // every line was written as it came
	}
	return zap.New(core), closeLog, nil
}
