package editorfs

import (
	"io/fs"
	"os"
	"time"

	"droid-acp/internal/sys/files"
)

// staged is a text that is ready to become a file. If the file system supports unnamed files, its disk space is already allocated.
type staged struct {
	draft *files.Draft // nil if files need a name
	text  string
	mode  fs.FileMode
	mtime time.Time // zero: when it is written
	last  bool      // must survive a power loss: synced
}

// stage writes a text into an unnamed file in the directory of path. If the file system does not support that, the text is written by
// named.
func stage(path, text string, mode fs.FileMode) (*staged, error) {
	s := &staged{text: text, mode: mode}
	d, err := files.NewUnnamedDraft(path)
	if err != nil {
		return s, nil
	}
	s.draft = d
	if err := s.fill(d.File); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// fill writes the text and sets the mode.
func (s *staged) fill(file *os.File) error {
	if _, err := file.WriteString(s.text); err != nil {
		return err
	}
	return file.Chmod(s.mode.Perm())
}

// named returns the staged text as a draft of the file at path, with a name. The caller owns it.
func (s *staged) named(path, temp string) (d *files.Draft, err error) {
	d, s.draft = s.draft, nil
	if d == nil || d.Link(temp) != nil { // there may be no /proc
		if d != nil {
			d.Discard()
		}
		if d, err = files.NewDraftAs(path, temp, 0o600); err != nil {
			return nil, err
		}
		if err = s.fill(d.File); err != nil {
			d.Discard()
			return nil, err
		}
	}
	d.ModTime, d.NoSync = s.mtime, !s.last
	return d, nil
}

func (s *staged) close() {
	if s != nil && s.draft != nil {
		s.draft.Discard() // an unnamed file vanishes
		s.draft = nil
	}
}
