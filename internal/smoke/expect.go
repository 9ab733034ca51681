package smoke

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"droid-acp/internal/files"
)

// maxExpected bounds what is read of a file, in bytes.
const maxExpected = 64 << 20

// Checked is an expectation after its turn.
type Checked struct {
	File     string `json:"file,omitempty"`     // relative to the directory; without it the expectation is about the answer
	Contains string `json:"contains,omitempty"` // the text that must be there
	Met      bool   `json:"met"`
	Found    string `json:"found,omitempty"` // what was found instead
}

// check looks whether an expectation is met by an answer and by the files of a
// directory.
func (e Expectation) check(answer, dir string) Checked {
	c := Checked{File: e.Path, Contains: e.Contains}
	if e.Path != "" {
		c.Found = lookForFile(dir, e)
	} else if !strings.Contains(answer, e.Contains) {
		c.Found = "an answer without it"
		if strings.TrimSpace(answer) == "" {
			c.Found = "no answer"
		}
	}
	c.Met = c.Found == ""
	return c
}

// lookForFile returns "" if the file is as expected, else what there is. It does not
// leave the directory, by symbolic links neither.
func lookForFile(dir string, e Expectation) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err.Error()
	}
	defer root.Close()
	name := filepath.FromSlash(e.Path)
	switch info, err := root.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case err != nil:
		return err.Error()
	case e.Contains == "":
		return ""
	case !info.Mode().IsRegular():
		return "no regular file"
	case info.Size() > maxExpected:
		return "a file too large to look into (more than 64 MiB)"
	}
	text, err := files.ReadIn(root, name, maxExpected)
	switch {
	case err != nil:
		return err.Error()
	case !strings.Contains(string(text), e.Contains):
		return "a file without it"
	}
	return ""
}
