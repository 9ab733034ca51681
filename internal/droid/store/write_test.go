package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// sometime is when the sessions of the tests begin.
var sometime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fields is a JSON object.
type fields map[string]any

func (f fields) line() string {
	data, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

func text(s string) []any { return []any{fields{"type": "text", "text": s}} }

// start99 is the first line as 0.99.0 writes it, changed by more.
func start99(id, cwd, title string, more fields) string {
	f := fields{"type": "session_start", "id": id, "title": title, "sessionTitle": placeholder,
		"owner": "unknown", "version": 2, "cwd": cwd}
	return with(f, more)
}

// start225 is the first line as 0.225.2 writes it.
func start225(id, cwd, title string, more fields) string {
	f := fields{"type": "session_start", "id": id, "title": title, "owner": "unknown", "version": 2,
		"cwd": cwd, "hostId": "00000000-0000-4000-8000-000000000001"}
	return with(f, more)
}

func with(f, more fields) string {
	for k, v := range more {
		if v == nil {
			delete(f, k)
			continue
		}
		f[k] = v
	}
	return f.line()
}

func message(role string, content any, visibility string) string {
	m := fields{"role": role, "content": content}
	if visibility != "" {
		m["visibility"] = visibility
	}
	return fields{"type": "message", "id": "m", "timestamp": "2026-03-01T12:00:00.000Z", "message": m}.line()
}

// turn99 is a turn of 0.99.0: reminders are parts of the user's message.
func turn99(prompt string) string {
	parts := []any{
		fields{"type": "text", "text": "<system-reminder>\n\nAbout the machine.\n\n</system-reminder>"},
		fields{"type": "text", "text": "<system-reminder>IMPORTANT: a hint.</system-reminder>"},
		fields{"type": "text", "text": prompt},
	}
	return message("user", parts, "") + message("assistant", text("Fine."), "")
}

// context225 is the message that 0.225.2 injects before the first one.
func context225(size int) string {
	return message("user", text("<system-reminder>\n"+strings.Repeat("x", size)+"\n</system-reminder>"), "llm_only")
}

// turn225 is the first turn of 0.225.2.
func turn225(prompt string) string {
	return context225(10_000) + message("user", text(prompt), "") + message("assistant", text("Fine."), "") +
		fields{"type": "agent_turn_outcome", "turnId": "m", "reason": "completed", "resultKind": "text"}.line()
}

// autoTitle returns droid's title for a prompt before a model names the session.
func autoTitle(prompt string) string {
	title := []rune(strings.Join(strings.Fields(prompt), " "))
	if len(title) > 150 {
		return string(title[:150]) + "..."
	}
	return string(title)
}

// testStore is a store with the log of what it skipped.
type testStore struct {
	*Store
	t    testing.TB
	logs *observer.ObservedLogs
}

func newStore(t testing.TB) testStore {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	root := filepath.Join(t.TempDir(), ".factory", "sessions")
	require.NoError(t, os.MkdirAll(root, 0o700))
	return testStore{New(root, zap.New(core)), t, logs}
}

// Thread is Store.Thread where the files can be read.
func (s testStore) Thread(id string) []string {
	s.t.Helper()
	return threadOf(s.t, s.Store, id)
}

func threadOf(t testing.TB, s *Store, id string) []string {
	t.Helper()
	ids, err := s.Thread(id)
	require.NoError(t, err)
	return ids
}

func isOpen(t testing.TB, s *Store, id string) bool {
	t.Helper()
	held, err := s.IsOpen(id)
	require.NoError(t, err)
	return held
}

// write writes a file of the store with this time.
func (s testStore) write(dir, name, content string, updated time.Time) string {
	s.t.Helper()
	path := filepath.Join(s.root, dir, name)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(s.t, os.WriteFile(path, []byte(content), 0o600))
	require.NoError(s.t, os.Chtimes(path, updated, updated))
	return path
}

// session writes a session with one turn, updated n seconds after sometime.
func (s testStore) session(id, cwd string, n int) string {
	s.t.Helper()
	prompt := "Work on " + id
	content := start225(id, cwd, prompt, nil) + turn225(prompt)
	return s.write(project(cwd), id+transcript, content, sometime.Add(time.Duration(n)*time.Second))
}

// list lists everything, page by page.
func (s testStore) list(cwd string, limit int) []Session {
	s.t.Helper()
	var all []Session
	for q := (Query{CWD: cwd, Limit: limit}); ; {
		page, err := s.List(s.t.Context(), q)
		require.NoError(s.t, err)
		require.LessOrEqual(s.t, len(page.Sessions), max(limit, DefaultLimit))
		all = append(all, page.Sessions...)
		if page.NextCursor == "" {
			return all
		}
		require.NotEmpty(s.t, page.Sessions)
		q.Cursor = page.NextCursor
	}
}

func ids(sessions []Session) []string {
	list := []string{}
	for _, s := range sessions {
		list = append(list, s.ID)
	}
	return list
}

func uuidLike(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n) }
