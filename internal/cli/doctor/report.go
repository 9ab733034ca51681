package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"droid-acp/internal/text/visible"
)

// Columns and widths of the table.
const (
	nameColumn            = 9
	minWidth, usual, most = 40, 80, 120
)

// Head returns the beginning of the report for people.
func (r Report) Head() string {
	return fmt.Sprintf("droid-acp %s, %s\n\n", visible.Line(r.Version), r.System)
}

// Line returns a check as a line of the table, safe to show, with the home directory as "~".
func (r Report) Line(c Check) string {
	text := r.wrap(fmt.Sprintf("%-*s%s:", nameColumn, label(c.Result), c.Name), r.safe(c.Found))
	if c.ToDo != "" {
		text += r.wrap(strings.Repeat(" ", nameColumn-2)+"→", r.safe(c.ToDo))
	}
	return text
}

func label(r Result) string {
	if r == Failure {
		return "FAILURE"
	}
	return string(r)
}

// Verdict returns the end of the table.
func (r Report) Verdict() string { return "\n" + r.verdict() + "\n" }

func (r Report) verdict() string {
	failures, warnings := r.Count(Failure), r.Count(Warning)
	var lines, counts []string
	if n := len(r.NotRun); n > 0 {
		lines = append(lines, fmt.Sprintf("The doctor was ended: %d of %d checks were not made.", n, len(r.Checks)))
	}
	if failures > 0 {
		counts = append(counts, counted(failures, "failure"))
	}
	if warnings > 0 {
		counts = append(counts, counted(warnings, "warning"))
	}
	switch {
	case failures > 0:
		lines = append(lines, list(counts)+". The lines with an arrow say what to do.")
	case warnings > 0:
		lines = append(lines, list(counts)+", and nothing was found that stops you.")
	case len(lines) == 0:
		lines = append(lines, "Nothing was found that stops you.")
	}
	return strings.Join(lines, "\n")
}

// safe makes text safe to show on one line.
func (r Report) safe(text string) string { return visible.Line(tilde(text, r.Home)) }

// tilde replaces the home directory by "~" at the beginning of paths. In a command, which is in backticks, it goes before the quotes of a
// word: a shell would not expand it inside.
func tilde(text, home string) string {
	if home = strings.TrimRight(home, `/\`); home == "" || !utf8.ValidString(home) { // a regular expression cannot contain it
		return text
	}
	begins := regexp.MustCompile(`(^|[\s("',;:]|\\[nt])` + regexp.QuoteMeta(home) + `([/\\\s)"',;:]|\.\s|\.?$)`)
	parts := strings.Split(text, "`")
	for i, part := range parts {
		switch {
		case i%2 == 0:
			parts[i] = begins.ReplaceAllString(part, "${1}~${2}")
		case runtime.GOOS != "windows": // cmd.exe does not expand "~"
			part = strings.NewReplacer("'"+home+"/", "~/'", "'"+home+"'", "~").Replace(part)
			parts[i] = begins.ReplaceAllString(part, "${1}~${2}")
		}
	}
	return strings.Join(parts, "`")
}

// words matches the words of a text; a command in backticks is one word, so that it can be copied.
var words = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[^\\s`]*(?:`[^`]*`[^\\s`]*)+|\\S+") })

// wrap wraps text into lines aligned behind a head.
func (r Report) wrap(head, text string) string {
	width := min(max(minWidth, cmp.Or(r.Width, usual)), most)
	var b strings.Builder
	b.WriteString(head)
	column := utf8.RuneCountInString(head)
	for _, word := range words().FindAllString(text, -1) {
		n := utf8.RuneCountInString(word)
		if column+1+n <= width {
			b.WriteByte(' ')
			column++
		} else {
			b.WriteString("\n" + strings.Repeat(" ", nameColumn))
			column = nameColumn
		}
		b.WriteString(word)
		column += n
	}
	b.WriteByte('\n')
	return b.String()
}

// JSON returns the report for programs. docs/programs.md describes its fields.
func (r Report) JSON() (string, error) {
	data, err := json.MarshalIndent(struct {
		Version string   `json:"version"`
		System  string   `json:"system"`
		OK      bool     `json:"ok"`
		NotRun  []string `json:"notRun,omitempty"`
		Checks  []Check  `json:"checks"`
	}{r.Version, r.System, r.Count(Failure) == 0 && len(r.NotRun) == 0, r.NotRun, r.Checks}, "", "  ")
	if err != nil {
		return "", err
	}
	quoted, err := json.Marshal(r.Home)
	lines := strings.Split(string(data), "\n")
	for i := range lines {
		lines[i] = tilde(lines[i], strings.Trim(string(quoted), `"`))
	}
	return visible.JSONLine(strings.Join(lines, "\n")) + "\n", err
}
