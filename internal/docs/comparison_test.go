package docs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var readPattern = regexp.MustCompile(`\b(?:seen|read)\b`)

// checkComparison returns rows whose last cell names no test that exists, but that of a plain
// "no", and headings of others that do not say how their cells are known.
func checkComparison(text string, tests *names) (wrong []string) {
	ours, wasTable, inTable := 0, false, false
	before := "" // what was written since the last table
	for i, line := range strings.Split(text, "\n") {
		complain := func(format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("line %d: ", i+1)+fmt.Sprintf(format, args...))
		}
		wasTable, inTable = inTable, strings.HasPrefix(line, "|")
		if !inTable {
			if wasTable {
				before = ""
			}
			before += line + "\n"
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		last := strings.TrimSpace(cells[len(cells)-1])
		if !wasTable {
			ours = len(cells) - 2
			if last != "shown by" || strings.TrimSpace(cells[ours]) != "droid-acp" {
				complain("the last columns are droid-acp and shown by")
			}
			if !readPattern.MatchString(line+before) || !versionPattern.MatchString(before) {
				complain("it is not said how the others are known, and in which version")
			}
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(cells[0]), "---") {
			continue
		}
		found := testNamePattern.FindAllStringSubmatch(last, -1)
		if len(found) == 0 && strings.TrimSpace(cells[ours]) != "no" {
			complain("no test shows %s", cells[0])
		}
		for _, m := range found {
			if !tests.haveTest(m[1], m[2]) {
				complain("there is no test %s", m[0])
			}
		}
	}
	return wrong
}

var versionPattern = regexp.MustCompile(`\b\d+\.\d+\.\d+\b`)

func TestComparison(t *testing.T) {
	tests, err := readNames(root)
	require.NoError(t, err)
	page := read(t, filepath.Join(root, "docs/comparison.md"))
	require.Greater(t, strings.Count(page, "\n|"), 40)
	require.Empty(t, checkComparison(page, tests))
}

func TestWrongComparisonsAreFound(t *testing.T) {
	tests, err := readNames(root)
	require.NoError(t, err)
	const page = "What 1.2.3 does was seen.\n\n| | other | droid-acp | shown by |\n|---|---|---|---|\n| a | no | yes | `TestComparison` |\n| b | yes | no | – |\n\n" +
		"Version 4.5.6.\n\n| | other, read | droid-acp | shown by |\n|---|---|---|---|\n| a | no | no; less | `docs.TestComparison` |\n"
	require.Empty(t, checkComparison(page, tests))
	for name, tc := range map[string][2]string{
		"no test":              {"`TestComparison`", "surely"},
		"no such test":         {"`TestComparison`", "`TestComparisons`"},
		"a test elsewhere":     {"`docs.TestComparison`", "`e2e.TestComparison`"},
		"no test for a tick":   {"| b | yes | no |", "| b | yes | half |"},
		"not said how":         {"was seen", "is known"},
		"not said how, 2":      {"other, read", "other"},
		"no version":           {"1.2.3", "1"},
		"no version, 2":        {"4.5.6", "4"},
		"no column of ours":    {"| other | droid-acp |", "| droid-acp | other |"},
		"no column for a test": {"| droid-acp | shown by |", "| droid-acp | by |"},
	} {
		changed := strings.Replace(page, tc[0], tc[1], 1)
		require.NotEqual(t, page, changed, name)
		require.NotEmpty(t, checkComparison(changed, tests), name)
	}
}
