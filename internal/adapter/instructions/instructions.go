// Package instructions reads what a client wants of a session that it opens: where the session
// works, with which MCP servers, and what is added to droid's system prompt. It looks at no
// disk itself.
package instructions

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"droid-acp/internal/adapter/mcp"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/paths"
)

// What a client may add to droid's system prompt is bounded, so that no mistake fills
// the model's context: 256 KiB are some 60,000 tokens.
const (
	maxSystemPrompt = 256 << 10
	maxRoots        = 100
)

// Params are the params of session/new, load, resume and fork.
type Params struct {
	SessionID             string          `json:"sessionId"`
	CWD                   string          `json:"cwd"`
	MCPServers            json.RawMessage `json:"mcpServers"`
	AdditionalDirectories []string        `json:"additionalDirectories"`
	SystemPrompt          json.RawMessage `json:"systemPrompt"`
	ConfigOptions         json.RawMessage `json:"configOptions"`
	Meta                  json.RawMessage `json:"_meta"`
}

// Wanted is the request that the params make.
type Wanted struct {
	SessionID string
	CWD       string // clean
	Servers   []stream.MCPServer
	Notices   []string        // about them, for the user
	First     []options.Value // that the options are to have, in this order

	Instructions
	words bool // the request says which words, maybe none
}

// Disk knows directories.
type Disk interface {
	// Directory is the name that this system has for a directory, or why that cannot be used;
	// what names it in the params.
	Directory(ctx context.Context, what, path string) (string, error)
}

// Read reads the params. The error is for the editor.
func (p Params) Read(ctx context.Context, disk Disk) (w Wanted, err error) {
	w.SessionID = p.SessionID
	if w.CWD, err = disk.Directory(ctx, "cwd", p.CWD); err != nil {
		return w, err
	}
	w.CWD = filepath.Clean(w.CWD)
	if w.Text, w.words, err = readSystemPrompt(p.SystemPrompt, p.Meta); err != nil {
		return w, err
	}
	if w.Roots, err = readRoots(ctx, disk, w.CWD, p.AdditionalDirectories); err != nil {
		return w, err
	}
	if n := len(w.Added("")); n > maxSystemPrompt {
		return w, fmt.Errorf("what is to be added to the system prompt has %d bytes; it may have %d, the additional directories included", n, maxSystemPrompt)
	}
	if w.First, err = options.ParseFirst(p.ConfigOptions); err != nil {
		return w, err
	}
	w.Servers, w.Notices, err = mcp.Parse(p.MCPServers)
	return w, err
}

// readRoots reads the additional directories. It drops the working directory and what
// is there twice.
func readRoots(ctx context.Context, disk Disk, cwd string, list []string) (roots []string, err error) {
	if len(list) > maxRoots {
		return nil, fmt.Errorf("additionalDirectories has %d directories; it may have %d", len(list), maxRoots)
	}
	for n, path := range list {
		if path, err = disk.Directory(ctx, fmt.Sprintf("additionalDirectories[%d]", n), path); err != nil {
			return nil, err
		}
		if path = filepath.Clean(path); !isAmong(path, append(roots, cwd)) {
			roots = append(roots, path)
		}
	}
	return roots, nil
}

func isAmong(path string, list []string) bool {
	for _, other := range list {
		if paths.Equal(path, other) {
			return true
		}
	}
	return false
}

// Following returns the instructions of a request to a session that had others before: its directories replace the earlier ones, and the
// text stays if the request has none.
func (w Wanted) Following(before Instructions) Wanted {
	if !w.words {
		w.Text, w.words = before.Text, true
	}
	return w
}
