package docs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// acpRow is a row of the tables of docs/acp.md.
type acpRow struct {
	line                int
	names               []string
	schema, status, why string // schema is "" for what is outside of it
}

// readACPRows reads the rows of all tables in a document.
func readACPRows(text string) (rows []acpRow) {
	for i, line := range strings.Split(text, "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "| `") || len(cells) < 3 {
			continue
		}
		for c := range cells {
			cells[c] = strings.TrimSpace(cells[c])
		}
		row := acpRow{line: i + 1, status: cells[len(cells)-2], why: cells[len(cells)-1]}
		if len(cells) == 4 {
			row.schema = cells[1]
		}
		for _, m := range quotedPattern.FindAllStringSubmatch(cells[0], -1) {
			row.names = append(row.names, m[1])
		}
		rows = append(rows, row)
	}
	return rows
}

var quotedPattern = regexp.MustCompile("`([^`]+)`")

// checkACP returns what is wrong with the table: names that the schema does not have or that
// stand twice, what is in no row, and what has no status.
func checkACP(text string, schema map[string]bool) (wrong []string) {
	seen := map[string]bool{}
	for _, row := range readACPRows(text) {
		complain := func(format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("line %d: ", row.line)+fmt.Sprintf(format, args...))
		}
		if row.schema != "" {
			row.checkNames(schema, seen, complain)
		}
		row.checkStatus(complain)
	}
	for name, unstable := range schema {
		if !seen[name] && !seen[family(name)] {
			wrong = append(wrong, fmt.Sprintf("%s (unstable: %t) is in no row", name, unstable))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// family is the name that stands for all fields or kinds of one thing.
func family(name string) string {
	if kind, _, ok := strings.Cut(name, ":"); ok && kind != "update" {
		return kind + ":*"
	}
	return strings.TrimSuffix(name[:max(0, strings.LastIndex(name, "."))], ".result") + ".*"
}

func (row acpRow) checkNames(schema, seen map[string]bool, complain func(string, ...any)) {
	for _, name := range row.names {
		if seen[name] {
			complain("%s is named twice", name)
		}
		seen[name] = true
		var members []string
		for member := range schema {
			if member == name || strings.HasSuffix(name, "*") && family(member) == name {
				members = append(members, member)
			}
		}
		if len(members) == 0 {
			complain("the schema has no %s", name)
		}
		for _, member := range members {
			if want := map[bool]string{true: "unstable", false: "stable"}[schema[member]]; row.schema != want {
				complain("%s is %s", member, want)
			}
		}
	}
}

// checkStatus: what is served is shown by something, all else has a reason.
func (row acpRow) checkStatus(complain func(string, ...any)) {
	if !slices.Contains([]string{"served", "declined", "not droid's"}, row.status) {
		complain("%q is no status", row.status)
	}
	if row.why == "" {
		complain("it does not say why %s is %s", row.names, row.status)
	}
	if row.status == "served" && slices.ContainsFunc(row.names, func(name string) bool { return strings.HasSuffix(name, "*") }) {
		complain("what is served is named one by one: a new field would not show")
	}
}

func TestACPTable(t *testing.T) {
	schema, err := acpNames(root)
	require.NoError(t, err)
	require.Greater(t, len(schema), 350)
	require.Empty(t, checkACP(read(t, filepath.Join(root, "docs/acp.md")), schema))
}

// TestACPTableFindsWhatIsWrong: a row that is wrong is found, one complaint each.
func TestACPTableFindsWhatIsWrong(t *testing.T) {
	schema := map[string]bool{"a/b": false, "a/b.c": false, "a/b.result.d": true, "kind:x": false, "kind:y": false}
	whole := "| `a/b`, `a/b.c` | stable | served | `TestACPTable` |\n| `a/b.result.d` | unstable | declined | too dear |\n| `kind:*` | stable | not droid's | it has none |\n"
	require.Empty(t, checkACP(whole, schema))
	for name, tc := range map[string][2]string{
		"a name less":         {", `a/b.c`", ""},
		"a name more":         {"`a/b.c`", "`a/b.c`, `a/b.e`"},
		"a name twice":        {"`a/b.c`", "`a/b.c`, `a/b`"},
		"a family of nothing": {"`kind:*`", "`kind:*`, `sort:*`"},
		"wrongly stable":      {"unstable", "stable"},
		"wrongly unstable":    {"`kind:*` | stable", "`kind:x`, `kind:y` | stable, once"},
		"a family served":     {"not droid's | it has none", "served | `TestACPTable`"},
		"no reason":           {"too dear", ""},
		"no status":           {"not droid's", "planned"},
	} {
		text := strings.Replace(whole, tc[0], tc[1], 1)
		require.NotEqual(t, whole, text, name)
		require.NotEmpty(t, checkACP(text, schema), name)
	}
	require.NotEmpty(t, checkACP(whole, map[string]bool{"a/b": false, "a/b.c": false, "a/b.result.d": true, "kind:x": false, "new": false}), "what is new")
}
