package droid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"
)

// Found is a session in which droid has found what was searched for. It may be a subagent's, or one that was deleted since.
type Found struct {
	ID   string `json:"sessionId"`
	Hits []struct {
		Kind     string   `json:"kind"`        // "message_text", "document", "tool_use" or "tool_result"
		Role     string   `json:"messageRole"` // of a message_text: "user" or "assistant"
		Snippets []string `json:"snippets"`
	} `json:"hits"`
}

// maxFound is how many sessions droid is asked for. Those that its caller does not want are among them, since droid searches all projects.
const maxFound = 1000

// maxSearchAnswer is the maximum size of an answer in bytes. One session has up to some 3 kB.
const maxSearchAnswer = 16 << 20

// Search has the program at path search the sessions of the user for a text: those of all projects, and it tolerates small differences
// (0.99 to 0.225). It takes 1 to 10 s. env is as in Release. The directory is an empty one, so that no project's files are read. droid keeps
// an index in its cache directory. When ctx ends, the program is killed.
func Search(ctx context.Context, path string, env []string, query string) ([]Found, error) {
	dir, err := files.MakeEmptyDir()
	if err != nil {
		return nil, err
	}
	defer dir.Remove() // the next one that is created removes what is left
	out := boundedText{max: maxSearchAnswer}
	args := []string{"search", "--json", "--limit-sessions", strconv.Itoa(maxFound), "--", query} // which may begin with a dash
	exit, err := subprocess.Run(ctx, subprocess.Command{Path: path, Args: args, Dir: dir.Path, Env: Command{Env: env}.environment()}, &out, 0)
	switch {
	case err != nil:
		return nil, err
	case exit.Code != 0:
		return nil, &ExitError{Path: path, Code: exit.Code, Signal: exit.Signal, Stderr: exit.Stderr, Err: exit.Err}
	}
	return readFound(out.Bytes())
}

// marks removes the marks that droid puts around the words that it has found (0.99 to 0.225).
var marks = strings.NewReplacer("<mark>", "", "</mark>", "")

// readFound decodes droid's answer, and removes its marks.
func readFound(text []byte) ([]Found, error) {
	var answer struct {
		Sessions *[]Found `json:"sessions"`
	}
	if err := json.Unmarshal(text[max(0, bytes.IndexByte(text, '{')):], &answer); err != nil {
		return nil, fmt.Errorf("droid's answer cannot be read: %w", err)
	}
	if answer.Sessions == nil {
		return nil, errors.New("droid's answer has no list of sessions")
	}
	for _, s := range *answer.Sessions {
		for _, h := range s.Hits {
			for i := range h.Snippets {
				h.Snippets[i] = marks.Replace(h.Snippets[i])
			}
		}
	}
	return *answer.Sessions, nil
}
