package doctor

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"droid-acp/internal/visible"
)

// How wide the table is, and where its columns begin.
const (
	width      = 100
	nameColumn = 9
	textColumn = nameColumn + 25
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
	head := fmt.Sprintf("%-*s%-*s", nameColumn, label(c.Result), textColumn-nameColumn, c.Name)
	text := wrap(head, r.safe(c.Found))
	if c.ToDo != "" {
		text += wrap(strings.Repeat(" ", textColumn-2)+"→ ", r.safe(c.ToDo))
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
	switch {
	case failures > 0 && warnings > 0:
		return counted(failures, "failure") + " and " + counted(warnings, "warning") + ". The lines with an arrow say what to do."
	case failures > 0:
		return counted(failures, "failure") + ". The lines with an arrow say what to do."
	case warnings > 0:
		return counted(warnings, "warning") + ", and nothing that stops you."
	}
	return "Nothing stops you."
}

// safe makes text safe to show, in one line.
func (r Report) safe(text string) string { return visible.Line(r.tilde(text)) }

// tilde puts "~" in the place of the home directory.
func (r Report) tilde(text string) string {
	home := strings.TrimRight(r.Home, `/\`)
	if home == "" {
		return text
	}
	return strings.ReplaceAll(text, home+string(filepath.Separator), "~"+string(filepath.Separator))
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

// wrap sets text behind a head, in lines that begin under each other.
func wrap(head, text string) string {
	var b strings.Builder
	b.WriteString(head)
	column := utf8.RuneCountInString(head)
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", textColumn))
			column = textColumn
		default:
			b.WriteByte(' ')
			column++
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
		Version string  `json:"version"`
		System  string  `json:"system"`
		OK      bool    `json:"ok"`
		Checks  []check `json:"checks"`
	}{r.Version, r.System, r.Count(Failure) == 0, checks}, "", "  ")
	return visible.JSON(string(data)) + "\n", err
}
