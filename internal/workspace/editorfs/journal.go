package editorfs

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"droid-acp/internal/sys/files"

	"go.uber.org/zap"
)

// entry is the journal's record of an edit while the old text is on disk. The new text follows it.
type entry struct {
	Path     string `json:"path"`
	Resolved string `json:"resolved"`
	Temp     string `json:"temp"` // name of the temporary file in the same directory
	New      bool   `json:"new"`  // there was no file before
	Old      string `json:"old"`  // SHA-256 of the old text
	Sum      string `json:"sum"`  // SHA-256 of the new text
	Mode     uint32 `json:"mode"`
	MTime    int64  `json:"mtime"`              // of droid's write, in nanoseconds
	Dir      uint64 `json:"dir,omitempty"`      // inode of the file's directory, 0 if unknown
	Unlocked bool   `json:"unlocked,omitempty"` // no lock shows whether its agent still works on it
	Done     bool   `json:"done,omitempty"`     // only the temporary file remains to be removed
}

// removeTemps removes the edit's temporary file, which may be in the directory of a link.
func (e entry) removeTemps() error {
	for _, beside := range []string{e.Resolved, e.Path} {
		if err := removeTemp(filepath.Join(filepath.Dir(beside), e.Temp)); err != nil {
			return err
		}
	}
	return nil
}

// record is an open journal entry. While it is open no other agent replays it.
type record struct {
	file *os.File
	path string
	in   entry
}

const (
	editEnd    = ".edit"
	halfEnd    = ".new" // an entry being written, on file systems without unnamed files
	lockEnd    = ".lock"
	damagedEnd = ".damaged"
	warnedEnd  = ".told" // suffix of an entry that the user was notified of
)

var errDamaged = errors.New("the entry is damaged")

// newID returns a random name.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

func isID(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == 16
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// record writes an entry, complete and locked from the moment it exists.
func (f *Files) record(id string, e entry, text string) (*record, error) {
	r, err := f.recordWith(id, e, text, f.locks.Lock)
	if !errors.As(err, new(*files.NoLocksError)) {
		return r, err
	}
	f.noLocks(err)
	e.Unlocked = true
	return f.recordWith(id, e, text, func(*os.File) error { return nil })
}

func (f *Files) recordWith(id string, e entry, text string, lock func(*os.File) error) (*record, error) {
	if err := f.failure("journal"); err != nil {
		return nil, err
	}
	head, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(f.journal, id+editEnd)
	var file *os.File
	err = f.inJournal(func() (err error) {
		file, err = publish(path, append(append(head, '\n'), text...), lock)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &record{file, path, e}, nil
}

// noLocks logs once that the journal cannot be locked; edits continue without locks.
func (f *Files) noLocks(err error) {
	f.unlocked.Do(func() {
		f.log.Warn("nothing can be locked in the journal of edits: two droid-acp that edit one file at the same time do not wait for each other",
			zap.String("journal", f.journal), zap.Error(err))
	})
}

// journalTries is how often the journal's directory is created for one entry while agents that exit remove it.
const journalTries = 1000

// inJournal calls do with the journal's directory, creating it if missing. An agent that exits may remove it at any moment unless it
// contains a file.
func (f *Files) inJournal(do func() error) (err error) {
	for range journalTries {
		if err = os.MkdirAll(f.journal, 0o700); err == nil {
			err = private(f.journal)
		}
		if err == nil {
			err = do()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// tidy removes the journal's directory if it is empty, and then its parent.
func (f *Files) tidy() {
	if removeDir(f.journal) && filepath.Base(filepath.Dir(f.journal)) == "droid-acp" {
		removeDir(filepath.Dir(f.journal))
	}
}

// removeDir removes an empty directory, and reports whether it is gone.
func removeDir(path string) bool {
	info, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() && os.Remove(path) == nil
}

// sent records that the text is being written now. It does nothing without an entry.
func (r *record) sent() {
	if r == nil {
		return
	}
	now := time.Now()
	_ = os.Chtimes(r.path, now, now) // the mtime is when the edit began
}

// forget removes the entry.
func (r *record) forget() {
	if r.file != nil {
		files.Unlock(r.file, r.path)
	}
	r.file = nil
}

// leave unlocks the entry, so that others may replay it. It does nothing without an entry.
func (r *record) leave() {
	if r != nil && r.file != nil {
		_ = r.file.Close()
	}
	r.file = nil
}

// parse parses an entry.
func parse(data []byte) (e entry, text string, err error) {
	head, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || json.Unmarshal(head, &e) != nil {
		return e, "", errDamaged
	}
	text = string(rest)
	if sum(text) != e.Sum || !filepath.IsAbs(e.Resolved) || filepath.Clean(e.Resolved) != e.Resolved || !isTempName(e.Temp) {
		return e, "", errDamaged
	}
	return e, text, nil
}

// load reads an open entry.
func load(file *os.File) (entry, string, error) {
	data, err := io.ReadAll(io.LimitReader(file, 2*maxSize))
	if err != nil {
		return entry{}, "", err
	}
	return parse(data)
}

// isEntry reports whether a file of this name is an entry, possibly one already reported.
func isEntry(name string) bool {
	id, rest, _ := strings.Cut(name, ".")
	return isID(id) && strings.HasPrefix("."+rest, editEnd) && !strings.HasSuffix(name, damagedEnd)
}
