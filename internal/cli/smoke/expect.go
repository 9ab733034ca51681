package smoke

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"droid-acp/internal/sys/files"
)

// maxExpected is how much of a file is read, in bytes.
const maxExpected = 64 << 20

// CheckedExpectation is an expectation and its result.
type CheckedExpectation struct {
	File     string `json:"file,omitempty"`     // relative to the directory; without it the expectation concerns the answer
	Contains string `json:"contains,omitempty"` // the required text
	Schema   bool   `json:"schema,omitempty"`   // the answer must match the prompt's schema
	Met      bool   `json:"met"`
	Found    string `json:"found,omitempty"` // what was found instead; empty if the turn did not end
}

// unchecked returns an expectation whose turn has not ended.
func (e Expectation) unchecked() CheckedExpectation {
	return CheckedExpectation{File: e.Path, Contains: e.Contains, Schema: e.Schema}
}

// check checks an expectation against the result of a prompt and the files of a directory.
func (e Expectation) check(p *PromptResult, dir string) CheckedExpectation {
	c := e.unchecked()
	switch answer := strings.TrimSpace(p.Answer); {
	case e.Path != "":
		c.Found = checkFile(dir, e)
	case e.Schema && p.Output != nil, !e.Schema && strings.Contains(p.Answer, e.Contains):
	case answer == "":
		c.Found = "no answer"
	case e.Schema:
		c.Found = "an answer in words alone: " + quoteEnd(answer)
	default:
		c.Found = "an answer without it: " + quoteEnd(answer)
	}
	c.Met = c.Found == ""
	return c
}

// maxQuoted is how much of an answer is quoted, in characters.
const maxQuoted = 200

// quoteEnd quotes the end of an answer, where agents summarize their work.
func quoteEnd(answer string) string {
	if letters := []rune(answer); len(letters) > maxQuoted {
		return fmt.Sprintf("…%q", string(letters[len(letters)-maxQuoted:]))
	}
	return fmt.Sprintf("%q", answer)
}

// checkFile returns "" if the file is as expected, otherwise what is there. It does not leave the directory, not even through symbolic
// links.
func checkFile(dir string, e Expectation) string {
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
