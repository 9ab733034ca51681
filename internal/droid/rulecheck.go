package droid

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/child"
	"droid-acp/internal/sys/files"
)

// RuleCheck is what droid says that its lists of commands make of one (0.225.2). It names no files, and nothing of what
// a session's mode allows.
type RuleCheck struct {
	Decision string // "allow", "ask" or "no-match" were seen
	Source   string // such as "legacy-allowlist"
	Patterns []string
	// Project says that what the project brings was read. It is not where something of it is left out: droid is started
	// in an empty directory then.
	Project bool
}

// CheckRules asks this droid's program about a command, in a directory and with the settings of this process. It starts
// a process that runs nothing else, for 0.5 to 1 s. The error is a *stream.TooOldError where it cannot do that.
func (c *Client) CheckRules(ctx context.Context, cwd, command string) (k RuleCheck, err error) {
	if err := c.Version().Needs(stream.ChecksRules); err != nil {
		return k, err
	}
	if c.proc == nil {
		return k, errors.ErrUnsupported
	}
	if k.Project = c.Without() == nil; !k.Project {
		dir, err := files.MakeEmptyDir()
		if err != nil {
			return k, err
		}
		defer dir.Remove() // the next one that is made removes what is left
		cwd = dir.Path
	}
	var out child.Tail
	exit, err := child.Run(ctx, child.Command{Path: c.proc.path, Args: []string{"rules", "check", "--command", command, "--json"}, Dir: cwd, Env: c.proc.env}, &out, 0)
	switch {
	case err != nil:
		return k, err
	case exit.Code != 0:
		return k, &ExitError{Path: c.proc.path, Code: exit.Code, Signal: exit.Signal, Stderr: exit.Stderr, Err: exit.Err}
	}
	lines, _ := out.Last()
	return k, k.read(strings.Join(lines, "\n"))
}

// read reads droid's answer.
func (k *RuleCheck) read(text string) error {
	var answer struct {
		Decision, Source, Pattern string
		Patterns                  []string
	}
	if err := json.Unmarshal([]byte(text[max(0, strings.IndexByte(text, '{')):]), &answer); err != nil || answer.Decision == "" {
		return errors.New("its answer has no decision")
	}
	k.Decision, k.Source, k.Patterns = answer.Decision, answer.Source, answer.Patterns
	if answer.Pattern != "" {
		k.Patterns = append(k.Patterns, answer.Pattern)
	}
	return nil
}
