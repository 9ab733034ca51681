package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"unicode/utf8"

	"droid-acp/internal/visible"
)

// Where the columns of the table begin, and how wide it is.
const (
	nameColumn            = 9
	minWidth, usual, most = 40, 80, 120
)

// Table is the report for people: its head, a line for each check, and its verdict.
func (r Report) Table() string {
	var b strings.Builder
	b.WriteString(r.Head())
	for _, c := range r.Checks {
		b.WriteString(r.Line(c))
	}
	b.WriteString(r.Verdict())
	return b.String()
}

// Head begins the table.
func (r Report) Head() string {
	return fmt.Sprintf("droid-acp %s, %s\n\n", visible.Line(r.Version), r.System)
}

// Line is a check in the table. What others wrote is safe in it, and the home directory
// is "~".
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

// Verdict ends the table.
func (r Report) Verdict() string { return "\n" + r.verdict() + "\n" }

func (r Report) verdict() string {
	failures, warnings := r.Count(Failure), r.Count(Warning)
	var words []string
	if n := len(r.NotRun); n > 0 {
		words = append(words, fmt.Sprintf("The doctor was ended: %d of %d checks were not made.", n, len(r.Checks)))
	}
	switch {
	case failures > 0 && warnings > 0:
		words = append(words, counted(failures, "failure")+" and "+counted(warnings, "warning")+". The lines with an arrow say what to do.")
	case failures > 0:
		words = append(words, counted(failures, "failure")+". The lines with an arrow say what to do.")
	case warnings > 0:
		words = append(words, counted(warnings, "warning")+", and nothing was found that stops you.")
	case len(words) == 0:
		words = append(words, "Nothing was found that stops you.")
	}
	return strings.Join(words, "\n")
}

// safe makes text safe to show, in one line.
func (r Report) safe(text string) string { return visible.Line(r.tilde(text)) }

// tilde puts "~" in the place of the home directory, where a path begins with it. In a
// command, which stands between backticks, it stays outside the quotes of a word: a shell
// would not know it inside.
func (r Report) tilde(text string) string {
	home := strings.TrimRight(r.Home, `/\`)
	if home == "" {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(text, home)
		if i < 0 {
			return b.String() + text
		}
		b.WriteString(text[:i])
		before, after := b.String(), text[i+len(home):]
		inCommand := strings.Count(before, "`")%2 == 1
		_, quoted := strings.CutSuffix(before, "'")
		begins := before == "" || strings.ContainsAny(before[len(before)-1:], " \t\n(\"'`,;:")
		ends := after == "" || os.IsPathSeparator(after[0]) || strings.ContainsAny(after[:1], " \t\n)\"'`,;:") || after == "." || strings.HasPrefix(after, ". ")
		switch {
		case !begins || !ends || inCommand && runtime.GOOS == "windows" || inCommand && quoted && !strings.HasPrefix(after, "/"):
			b.WriteString(home)
		case inCommand && quoted:
			b.Reset()
			b.WriteString(strings.TrimSuffix(before, "'") + "~/'")
			after = after[1:]
		default:
			b.WriteByte('~')
		}
		text = after
	}
}

// shorten is tilde for all texts of a value.
func (r Report) shorten(facts map[string]any) map[string]any {
	data, err := json.Marshal(facts)
	var plain map[string]any
	if err != nil || json.Unmarshal(data, &plain) != nil {
		return nil // facts hold nothing but texts, numbers and lists
	}
	short, _ := r.shortenAny(plain).(map[string]any)
	return short
}

func (r Report) shortenAny(value any) any {
	switch v := value.(type) {
	case string:
		return r.tilde(v)
	case []any:
		for i := range v {
			v[i] = r.shortenAny(v[i])
		}
	case map[string]any:
		short := make(map[string]any, len(v))
		for key, of := range v {
			short[r.tilde(key)] = r.shortenAny(of)
		}
		return short
	}
	return value
}

// words are those of a text; a command between backticks is one, so that it can be copied.
var words = regexp.MustCompile("[^\\s`]*(?:`[^`]*`[^\\s`]*)+|\\S+")

// wrap sets text behind a head, in lines that begin under each other.
func (r Report) wrap(head, text string) string {
	width := min(max(minWidth, cmp.Or(r.Width, usual)), most)
	var b strings.Builder
	b.WriteString(head)
	column := utf8.RuneCountInString(head)
	for _, word := range words.FindAllString(text, -1) {
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

// JSON is the report for programs. Its fields are described in docs/troubleshooting.md.
func (r Report) JSON() (string, error) {
	type check struct {
		ID     string         `json:"id"`
		Name   string         `json:"name"`
		Result Result         `json:"result"`
		Found  string         `json:"found"`
		ToDo   string         `json:"todo,omitempty"`
		Facts  map[string]any `json:"facts,omitempty"`
	}
	checks := make([]check, len(r.Checks))
	for i, c := range r.Checks {
		checks[i] = check{c.ID, c.Name, c.Result, r.tilde(c.Found), r.tilde(c.ToDo), r.shorten(c.Facts)}
	}
	data, err := json.MarshalIndent(struct {
		Version string   `json:"version"`
		System  string   `json:"system"`
		OK      bool     `json:"ok"`
		NotRun  []string `json:"notRun,omitempty"`
		Checks  []check  `json:"checks"`
	}{r.Version, r.System, r.Count(Failure) == 0 && len(r.NotRun) == 0, r.NotRun, checks}, "", "  ")
	return visible.JSON(string(data)) + "\n", err
}
