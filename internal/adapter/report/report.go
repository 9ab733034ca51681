// Package report writes what a bug report needs of a session to one file, for a person to read before it is sent. adapter gathers it.
package report

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid/redact"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/visible"
)

// Report is the content of a report on a session.
type Report struct {
	Session      string // its ID
	Time         time.Time
	Why          string   // what has failed, "" if the user asked for the report
	Status       string   // as /status shows it
	Settings     []string // of the agent
	Log          []string // its last lines
	Stderr       []string // what the last droid that ended by itself wrote last
	Messages     []string // the last ones, without their texts
	Conversation string   // with all texts, "" to leave it out
}

// kept is how many reports stay in a directory.
const kept = 20

// Text returns a report as text, without secrets, and with "~" in place of the user's home directory. It reads settings of droid there.
func (r Report) Text(env []string, home string) string {
	var b strings.Builder
	part := func(title string, lines ...string) {
		if text := strings.Join(lines, "\n"); text != "" {
			fmt.Fprintf(&b, "\n== %s\n%s\n", title, visible.Text(text))
		}
	}
	fmt.Fprintf(&b, "Report of droid-acp, %s\n", r.Time.Format(time.RFC3339))
	if r.Conversation == "" {
		b.WriteString("It has no prompts, no answers, and no texts of files and tools: ‹12:0a1b2c› stands for a text of 12 bytes, and for the same text everywhere.\n")
	} else {
		b.WriteString("It has the conversation, with texts of files and tools.\n")
	}
	b.WriteString("Read it before you send it.\n")
	part("What failed", r.Why)
	part("Status", strings.TrimSpace(r.Status))
	part("Settings", r.Settings...)
	part("Log", r.Log...)
	part("What the last droid that ended by itself wrote to stderr", r.Stderr...)
	part("Messages: < to droid-acp, > from droid-acp", r.Messages...)
	part("Conversation", r.Conversation)
	return withTilde(redact.New(env, home).Text(b.String()), visible.Text(home))
}

// withTilde replaces the home directory by "~", but not as a part of the name of another one. In JSON, backslashes of its path are doubled.
func withTilde(text, home string) string {
	if home = strings.TrimRight(home, `/\`); home == "" {
		return text
	}
	forms := regexp.QuoteMeta(home) + "|" + regexp.QuoteMeta(strings.ReplaceAll(home, `\`, `\\`))
	whole := regexp.MustCompile(`(^|[^\pL\pN_.-])(?:` + forms + `)(\.?[^\pL\pN_.-]|\.?$)`)
	for range 2 { // two matches may share the character between them
		text = whole.ReplaceAllString(text, "${1}~${2}")
	}
	return text
}

// WriteFile writes a report to a new file.
func (r Report) WriteFile(path string) error {
	home, _ := os.UserHomeDir() // without one there is nothing to replace
	text := r.Text(os.Environ(), home)
	file, err := files.NewDraft(path, 0o600)
	if err != nil {
		return err
	}
	defer file.Discard()
	if _, err = file.Write([]byte(text)); err != nil {
		return err
	}
	return file.Create()
}

// WriteIn writes a report to a new file in a directory, which is created if necessary, and removes the oldest ones there.
func (r Report) WriteIn(dir string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, r.Time.UTC().Format("report-20060102-150405.000-")+r.Session+".txt")
	if err := r.WriteFile(path); err != nil {
		return "", err
	}
	all, err := os.ReadDir(dir) // sorted by name, which begins with the time
	all = slices.DeleteFunc(all, func(e os.DirEntry) bool {
		return !strings.HasPrefix(e.Name(), "report-") || !strings.HasSuffix(e.Name(), ".txt")
	})
	for ; err == nil && len(all) > kept; all = all[1:] {
		_ = os.Remove(filepath.Join(dir, all[0].Name())) // another process may have
	}
	return path, nil
}
