package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/jsonrpc"
)

// logLine is a line of a log file.
type logLine map[string]any

func readLog(t *testing.T, path string) (text string, lines []logLine) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range bytes.Lines(data) {
		var l logLine
		require.NoError(t, json.Unmarshal(line, &l), "%s", line)
		lines = append(lines, l)
	}
	return string(data), lines
}

// one is the line with this text, of which there is one.
func one(t *testing.T, lines []logLine, text string) logLine {
	t.Helper()
	found := with(lines, text)
	require.Len(t, found, 1, text)
	return found[0]
}

// with are the lines with this text.
func with(lines []logLine, text string) []logLine {
	return slices.DeleteFunc(slices.Clone(lines), func(l logLine) bool { return l["msg"] != text })
}

// TestLogAtItsDefaultLevel: it says what a report of a fault needs, and nothing of what was said
// or done in a session.
func TestLogAtItsDefaultLevel(t *testing.T) {
	useScripted(t)
	t.Setenv("FACTORY_API_KEY", "TOKEN-SECRET")
	work, dir := t.TempDir(), t.TempDir()
	log, prompts, result := filepath.Join(dir, "log"), filepath.Join(dir, "prompts"), filepath.Join(dir, "result")
	require.NoError(t, os.WriteFile(prompts, []byte("words PROMPT-SECRET\n---\nwrite "+filepath.Join(work, "FILE-SECRET")+" CONTENT-SECRET\n---\nmuch\n---\nunauthorized\n---\nnever\n"), 0o600))
	got := command("", "smoke", "--cwd", work, "--permissions", "allow", "--prompts", prompts, "--log-file", log, "--result", result)
	require.Equal(t, 5, got.code, got.stderr)
	require.FileExists(t, filepath.Join(work, "FILE-SECRET"))
	session := readResult(t, result).SessionID
	text, lines := readLog(t, log)
	require.NotContains(t, text, "SECRET")

	first := lines[0]
	require.Equal(t, "droid-acp has started", first["msg"])
	require.Equal(t, []any{version(), "smoke"}, []any{first["version"], first["command"]})
	require.Equal(t, os.Getenv("DROID_ACP_DROID"), one(t, lines, "droid has started")["droid"])
	require.Equal(t, "droid-acp smoke", one(t, lines, "a client has connected")["client"])
	require.NotEmpty(t, one(t, lines, "droid speaks")["protocol"])
	require.Equal(t, session, one(t, lines, "session opened")["session"])
	require.Equal(t, session, one(t, lines, "session ended")["session"])
	turns := with(lines, "turn ended")
	require.Len(t, turns, 4)
	ends := make(map[string]int) // each is logged after its response, so the next may be faster
	for _, turn := range turns {
		require.Equal(t, session, turn["session"])
		require.IsType(t, 0., turn["seconds"])
		ends[fmt.Sprint(turn["stopReason"], turn["kind"], turn["code"])]++
	}
	require.Equal(t, map[string]int{"end_turn<nil> <nil>": 3, "<nil>error-32603": 1}, ends)
	require.Len(t, lines, 10, "a line for each of these, and none for an event: %s", text)
}

// A refused request is logged with its method and the kind of error.
func TestLogOfRefusals(t *testing.T) {
	t.Setenv("DROID_ACP_DROID", filepath.Join(t.TempDir(), "none"))
	log := filepath.Join(t.TempDir(), "log")
	const id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	conversation(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"An editor","version":"1.2"}}}
{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"`+filepath.ToSlash(t.TempDir())+`","mcpServers":[]}}
{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"`+id+`","prompt":[{"type":"text","text":"PROMPT-SECRET"}]}}
{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"../ID-SECRET","prompt":[]}}
{"jsonrpc":"2.0","id":5,"method":"session/load","params":{"sessionId":"`+id+`","cwd":"/FILE-SECRET","mcpServers":[]}}
{"jsonrpc":"2.0","id":6,"method":"what`+strings.Repeat("x", 1000)+`","params":{"text":"PARAMS-SECRET"}}
`, "--log-file", log)
	text, lines := readLog(t, log)
	require.NotContains(t, text, "SECRET")
	require.Less(t, len(text), 4000)
	require.Equal(t, []any{"An editor", "1.2"}, []any{one(t, lines, "a client has connected")["client"], one(t, lines, "a client has connected")["version"]})
	one(t, lines, "there is no droid; the session waits for one")
	told := map[string]bool{}
	for _, l := range append(with(lines, "a request was refused"), with(lines, "turn ended")...) {
		told[fmt.Sprintf("%.20v %v %v %v", l["method"], l["session"], l["code"], l["kind"])] = true
	}
	require.Equal(t, map[string]bool{
		"<nil> " + id + " -32002 <nil>":                          true,
		"<nil> <nil> -32602 <nil>":                               true,
		"session/load " + id + " -32602 <nil>":                   true,
		"what" + strings.Repeat("x", 16) + " <nil> -32601 <nil>": true,
	}, told)
}

// callWith is a call with these values of settings, each behind its name.
func callWith(t *testing.T, pairs ...string) *invocation {
	values := flags.New(flags.Common())
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			require.NoError(t, values[pair[0]].Set(pair[1]))
		}
	}
	return &invocation{values: values}
}

// TestLogLeavesWordsAndFilesOut: whatever is logged, what others said is not in it, and a file of
// a project is named on stderr alone, unless the log is to have everything.
func TestLogLeavesWordsAndFilesOut(t *testing.T) {
	for level, names := range map[string]bool{"": false, "info": false, "debug": true} {
		path := filepath.Join(t.TempDir(), "log")
		var stderr bytes.Buffer
		c := callWith(t, flags.LogFile, path, flags.LogLevel, level)
		log, closeLog, err := c.logger(&stderr)
		require.NoError(t, err)
		missing := &fs.PathError{Op: "open", Path: "/project/FILE", Err: fs.ErrNotExist}
		moved := &os.LinkError{Op: "rename", Old: "/project/FILE.1", New: "/project/FILE.2", Err: fs.ErrExist}
		log.With(zap.String("path", "/project/FILE")).Warn("one", zap.String("path", "/project/FILE.3"),
			zap.Error(fmt.Errorf("no /project/FILE.3: %w", errors.Join(moved, fmt.Errorf("so: %w", missing)))),
			zap.NamedError("refused", &jsonrpc.Error{Code: -32603, Message: "WORDS", Data: map[string]string{"kind": "model_rate_limited", "details": "WORDS"}}),
			zap.NamedError("other", fmt.Errorf("asked: %w", &jsonrpc.Error{Code: -32602, Message: "WORDS: WORDS"})))
		closeLog()
		text, lines := readLog(t, path)
		require.NotContains(t, text+stderr.String(), "WORDS")
		require.Equal(t, "error -32603 (model_rate_limited)", lines[0]["refused"])
		require.Equal(t, "asked: error -32602", lines[0]["other"])
		require.Contains(t, stderr.String(), "/project/FILE.2")
		require.Equal(t, names, strings.Contains(text, "FILE"), text)
		require.Equal(t, names, lines[0]["path"] != nil)
		if !names {
			require.Equal(t, "no …: rename: file already exists\nso: open: file does not exist", lines[0]["error"])
		}
	}
}
