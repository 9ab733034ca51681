package settings

import (
	"fmt"
	"strings"
)

// prefix is what the names of this program's variables begin with.
const prefix = "DROID_ACP_"

// others are variables, without the prefix, that are no settings of a user: "…_" stands for
// all that begin so. The first three are for tests; the completion scripts read the others.
var others = []string{
	"E2E_", "TEST_", "TRANSCRIPTS", "COMPLETION_DESCRIPTIONS", "ACTIVE_HELP",
}

// Stray is a variable with our prefix that nobody reads.
type Stray struct {
	Name    string
	Nearest string // the variable that was perhaps meant, or ""
}

func (s Stray) String() string {
	text := fmt.Sprintf("there is no setting $%s", s.Name)
	if s.Nearest != "" {
		text += "; is $" + s.Nearest + " meant?"
	}
	return text
}

// Strays are the variables of an environment (lines NAME=VALUE) that begin with DROID_ACP_
// and are none of a setting in the commands. One with an empty value is not set.
func Strays(environ []string, commands []Command) (strays []Stray) {
	var known []string // without the prefix
	for _, row := range AllSettings(commands) {
		if name, ok := strings.CutPrefix(row.Env, prefix); ok {
			known = append(known, name)
		}
	}
	for _, line := range environ {
		variable, value, _ := strings.Cut(line, "=")
		name, ours := strings.CutPrefix(variable, prefix)
		if !ours || value == "" || isKnown(name, known) {
			continue
		}
		stray := Stray{Name: variable}
		if nearest := Nearest(name, known); nearest != "" {
			stray.Nearest = prefix + nearest
		}
		strays = append(strays, stray)
	}
	return strays
}

func isKnown(name string, known []string) bool {
	for _, k := range append(others, known...) {
		if name == k || strings.HasSuffix(k, "_") && strings.HasPrefix(name, k) {
			return true
		}
	}
	return false
}

// AllSettings are the rows of Common and those of the commands.
func AllSettings(commands []Command) []Setting {
	rows := Common()
	for _, c := range commands {
		rows = append(rows, c.Own...)
	}
	return rows
}

// Nearest is the name that a mistyped one was perhaps meant to be: one that takes at most
// a third of its letters to change. It is "" if there is none.
func Nearest(typed string, names []string) string {
	best, least := "", len(typed)/3+1
	for _, name := range names {
		if d := distance(typed, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is how many letters are to be changed, added, removed or swapped with the next
// one (optimal string alignment).
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := d[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			d[i][j] = min(change, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
