package droid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"
)

// RuleCheck is how droid's command lists apply to a command (0.225.2). It names no files, and ignores what a session's mode allows.
type RuleCheck struct {
	Decision string // "allow", "ask" or "no-match" were observed
	Source   string // such as "legacy-allowlist"
	Patterns []string
	// Project says that the project's files were read. They are not if any of them is excluded: droid is started in an empty directory
	// then.
	Project bool
}

// CheckRules asks this droid's program about a command in a directory. It reads the files of the user and the project, but not the settings
// of a single process (0.225.2). It starts a process that does nothing else, for 0.5 to 1 s. The error is a *stream.TooOldError if droid
// cannot do that.
func (c *Client) CheckRules(ctx context.Context, cwd, command string) (k RuleCheck, err error) {
	if err := c.Version().Needs(stream.ChecksRules); err != nil {
		return k, err
	}
	if c.proc == nil {
		return k, errors.ErrUnsupported
	}
	if k.Project = c.Excluded() == nil; !k.Project {
		dir, err := files.MakeEmptyDir()
		if err != nil {
			return k, err
		}
		defer dir.Remove() // the next one that is created removes what is left
		cwd = dir.Path
	}
	out := boundedText{max: maxRuleAnswer}
	exit, err := subprocess.Run(ctx, subprocess.Command{Path: c.proc.path, Args: []string{"rules", "check", "--command", command, "--json"}, Dir: cwd, Env: c.proc.env}, &out, 0)
	switch {
	case err != nil:
		return k, err
	case exit.Code != 0:
		return k, &ExitError{Path: c.proc.path, Code: exit.Code, Signal: exit.Signal, Stderr: exit.Stderr, Err: exit.Err}
	}
	return k, k.read(out.Bytes())
}

// boundedText keeps the beginning of what is written to it.
type boundedText struct {
	bytes.Buffer
	max int // bytes
}

// maxRuleAnswer is the maximum size of an answer in bytes. One has about 1.2 kB, and 0.1 kB more for each rule.
const maxRuleAnswer = 1 << 20

func (b *boundedText) Write(p []byte) (int, error) {
	_, _ = b.Buffer.Write(p[:min(len(p), b.max-b.Len())]) // it never fails
	return len(p), nil
}

// read decodes droid's answer.
func (k *RuleCheck) read(text []byte) error {
	var answer struct {
		Preview struct {
			Decision struct {
				Decision, Source, Pattern string
				Patterns                  []string
			}
		}
	}
	if err := json.Unmarshal(text[max(0, bytes.IndexByte(text, '{')):], &answer); err != nil {
		return fmt.Errorf("its answer cannot be read: %w", err)
	}
	d := answer.Preview.Decision
	if d.Decision == "" {
		return errors.New("its answer has no decision")
	}
	if k.Decision, k.Source, k.Patterns = d.Decision, d.Source, d.Patterns; d.Pattern != "" {
		k.Patterns = append(k.Patterns, d.Pattern)
	}
	return nil
}
