package editorfs

import (
	"io/fs"
	"os"
	"time"

	"droid-acp/internal/sys/files"
)

// staged is a text that is ready to become a file. Where a file system can have files
// without a name it has its room on the disk, and no name.
type staged struct {
	draft *files.Draft // nil where files need a name
	text  string
	mode  fs.FileMode
	mtime time.Time // zero: when it is written
	last  bool      // nothing makes up for it when the machine loses power: it is written through
}

// stage writes a text beside the file at path, without a name. A file system that
// cannot have such files gets the text when it gets its name.
func stage(path, text string, mode fs.FileMode) (*staged, error) {
	s := &staged{text: text, mode: mode}
	d, err := files.Nameless(path)
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

// named is the staged text as a draft of the file at path, with a name. It is the caller's.
func (s *staged) named(path, temp string) (d *files.Draft, err error) {
	d, s.draft = s.draft, nil
	if d == nil || d.Link(temp) != nil { // there may be no /proc
		if d != nil {
			d.Discard()
		}
		if d, err = files.BeginAs(path, temp, 0o600); err != nil {
			return nil, err
		}
		if err = s.fill(d.File); err != nil {
			d.Discard()
			return nil, err
		}
	}
	d.ModTime, d.Fast = s.mtime, !s.last
	return d, nil
}

func (s *staged) close() {
	if s != nil && s.draft != nil {
		s.draft.Discard() // what has no name is gone
		s.draft = nil
	}
}
