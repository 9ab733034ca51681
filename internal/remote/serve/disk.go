package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
)

// maxFile is the largest file that is read in place of an editor, in bytes.
const maxFile = 64 << 20

// fromDisk answers a request for a file while no editor is connected: the file on the disk is all there is then.
func (q *question) fromDisk() {
	var p struct {
		Path, Content string
		Line, Limit   *int
	}
	err := json.Unmarshal(q.params, &p)
	var result any = struct{}{}
	switch {
	case err != nil:
	case !filepath.IsAbs(p.Path):
		err = errors.New("the path is not absolute")
	case q.method == readFile:
		var text string
		if text, err = readLines(p.Path, p.Line, p.Limit); err == nil {
			result = map[string]string{"content": text}
		}
	default:
		err = writeText(p.Path, p.Content)
	}
	s := q.agent.server
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.questions[q.id] != q:
	case errors.Is(err, fs.ErrNotExist):
		q.refuse(codeNotFound, err.Error())
	case err != nil:
		q.refuse(jsonrpc.CodeInvalidParams, err.Error())
	default:
		q.settle(result)
	}
}

// codeNotFound is the code of a missing resource (ACP v1, errors).
const codeNotFound = -32002

func readLines(path string, line, limit *int) (string, error) {
	data, err := files.Read(path, maxFile)
	if err != nil {
		return "", err
	}
	text := string(data)
	if line == nil && limit == nil {
		return text, nil
	}
	lines := strings.SplitAfter(text, "\n")
	begin := 0
	if line != nil {
		begin = min(max(*line-1, 0), len(lines))
	}
	end := len(lines)
	if limit != nil {
		end = min(begin+max(*limit, 0), len(lines))
	}
	return strings.Join(lines[begin:end], ""), nil
}

// writeText writes a file atomically. A symbolic link stays one, and a file keeps its permissions.
func writeText(path, text string) error {
	mode := fs.FileMode(0o644)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is no regular file", path)
		}
		mode = info.Mode().Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return files.Write(path, []byte(text), mode)
}
