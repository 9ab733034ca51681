package editorfs

import (
	"errors"
	"io/fs"
	"os"
)

// replace puts a text into a file, whatever the file is like. now is what is there: nil for nothing,
// or when it cannot be read. The text takes the file's place as a new file, which another name of
// the file does not get: such a name is most often a backup, and is to keep the text that it has. Where a
// new file cannot be had, or would lose something (attributes, an owner), the text is
// written in place, which is not whole at once: writes is called before. check is asked right before the
// file is touched.
func (f *Files) replace(resolved, temp string, s *staged, now *content, step func(stepName), writes func(), check func() error) error {
	if now != nil && now.unfit != nil && !errors.Is(now.unfit, errShared) {
		begun, err := f.overwrite(resolved, s.text, now.info, func() error {
			step(stepRename)
			err := check()
			if err == nil {
				writes()
			}
			return err
		})
		if err == nil || begun || !errors.Is(now.unfit, errNoWrite) {
			return err
		}
	}
	return f.put(resolved, temp, s, step, check)
}

// overwrite writes a text into a file that has one name and is the one that info tells of. begun
// says that the old text is gone.
func (f *Files) overwrite(resolved, text string, info fs.FileInfo, check func() error) (begun bool, err error) {
	if err := f.failure("overwrite"); err != nil {
		return false, err
	}
	file, err := os.OpenFile(resolved, os.O_WRONLY|openFlags, 0)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if here, err := file.Stat(); err != nil || !os.SameFile(here, info) {
		return false, errors.Join(errBusy, err)
	}
	if err := check(); err != nil {
		return false, err
	}
	if err := file.Truncate(0); err != nil {
		return false, err
	}
	if _, err := file.WriteString(text); err != nil {
		return true, err
	}
	return true, file.Sync()
}
