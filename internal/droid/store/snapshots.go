package store

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

const (
	maxManifest  = 32 << 20 // maximum size of a list of snapshots, in bytes; an edit takes about 400
	maxSnapshot  = 4 << 20  // maximum size of a snapshot
	maxSnapshots = 64 << 20 // maximum total size per question
)

// Snapshot is a file's content before an edit of droid.
type Snapshot struct {
	Call  string  // ID of the tool call
	Path  string  // absolute
	Text  *string // nil if the file did not exist
	Known bool    // false if droid no longer has the text, or it is too large
}

// Snapshots returns the files that droid edited in a session from a user message on, each as it was before an edit, in the order of the
// edits. There are none if droid edited no file in the turn of that message, or stores them elsewhere. The error comes from reading the
// list.
//
// The list is <home>/.factory/snapshots/manifests/<session>.snapshots.json. A text is stored below content by the SHA-256 of its
// bytes, the first two hex digits naming a directory (0.99.0, 0.215.0 and 0.225.2, found by running them). A refused or failed edit has
// none.
func (s *Store) Snapshots(session, message string) (found []Snapshot, err error) {
	if s.err != nil {
		return nil, s.err
	}
	if !stream.ValidSessionID(session) {
		return nil, errNoID
	}
	root := filepath.Join(filepath.Dir(s.root), "snapshots")
	path := filepath.Join(root, "manifests", session+".snapshots.json")
	data, err := files.Read(path, maxManifest)
	if err != nil {
		return nil, err
	}
	type edited struct{ FilePath, ContentHash, ToolCallID string }
	var list struct {
		Boundaries []struct {
			MessageID        string
			Files, Creations []edited
		}
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	begun, size := false, 0
	for _, b := range list.Boundaries {
		if begun = begun || b.MessageID == message; !begun {
			continue
		}
		for _, f := range b.Files {
			one := Snapshot{Call: f.ToolCallID, Path: f.FilePath}
			if text, err := readSnapshot(root, f.ContentHash); err == nil && size <= maxSnapshots {
				one.Text, one.Known = &text, true
				size += len(text)
			}
			found = append(found, one)
		}
		for _, f := range b.Creations {
			found = append(found, Snapshot{Call: f.ToolCallID, Path: f.FilePath, Known: true})
		}
	}
	return found, nil
}

// readSnapshot reads a stored text.
func readSnapshot(root, hash string) (string, error) {
	if sum, err := hex.DecodeString(hash); err != nil || len(sum) != 32 {
		return "", os.ErrNotExist
	}
	data, err := files.Read(filepath.Join(root, "content", hash[:2], hash[2:]), maxSnapshot)
	return string(data), err
}
