//go:build linux

package adapter

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/hooks"
	"droid-acp/internal/workspace/editorfs"
)

// shadows returns what tells the private files that droid was given so far.
func (r *filesRoom) shadows() func() []string {
	var mu sync.Mutex
	var all []string
	r.pipe.mu.Lock()
	defer r.pipe.mu.Unlock()
	r.pipe.answered = func(a hooks.Answer) {
		var in struct {
			Path string `json:"file_path"`
		}
		if json.Unmarshal(a.UpdatedInput, &in) == nil && in.Path != "" {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, in.Path)
		}
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// wasAsked reports whether the user was asked for permission.
func (r *filesRoom) wasAsked() bool {
	return slices.ContainsFunc(r.received(), func(m wireMessage) bool { return m.Method == "session/request_permission" })
}

// untilAsked waits until he is.
func (r *filesRoom) untilAsked() {
	r.t.Helper()
	for range 1000 {
		if r.wasAsked() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatal("nobody asks")
}

// lastDiff is the old and the new text of the diff that was told last.
func (r *filesRoom) lastDiff() []string { return r.diff("session/update") }

func (r *filesRoom) diff(method string) []string {
	all := r.diffs(method)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// diffs are the old and the new text of all diffs that a method told, in order.
func (r *filesRoom) diffs(method string) (all [][]string) {
	type content []struct{ Type, OldText, NewText string }
	for _, m := range r.received() {
		var p struct {
			Update   struct{ Content content }
			ToolCall struct{ Content content }
		}
		if m.Method != method || json.Unmarshal(m.Params, &p) != nil {
			continue
		}
		for _, c := range append(p.Update.Content, p.ToolCall.Content...) {
			if c.Type == "diff" {
				all = append(all, []string{c.OldText, c.NewText})
			}
		}
	}
	return all
}

// noEditor has no file.
type noEditor struct{}

func (noEditor) ReadTextFile(_ string, done func(string, error)) (withdraw func() bool) {
	done("", errors.New("none"))
	return nil
}

func (noEditor) WriteTextFile(_, _ string, done func(error)) (withdraw func() bool) {
	done(errors.New("none"))
	return nil
}

// free sees that nobody holds a file for an edit.
func (r *filesRoom) free(path string) {
	r.t.Helper()
	began := time.Now()
	overlay := r.agent.editorFiles.files.Overlay(noEditor{}, editorfs.OverlayOptions{})
	defer overlay.Close()
	overlay.Before(r.t.Context(), "free", []string{path})
	require.Less(r.t, time.Since(began), 2*time.Second, "somebody holds the file")
}
