package droids

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Tried is a person's knowledge of a version that no recording shows.
type Tried struct {
	// EndToEnd is the result of the end-to-end tests; "pass" for all, "" for none.
	EndToEnd string
}

// LoadTried reads the results of each version.
func LoadTried(dir string) (map[string]Tried, error) {
	text, err := os.ReadFile(filepath.Join(dir, "tried.json"))
	if err != nil {
		return nil, err
	}
	var tried map[string]Tried
	return tried, json.Unmarshal(text, &tried)
}

// Tables returns the tables of the page about droids, in Markdown: each version, and its properties. Cells are not aligned, since nobody
// reads the source.
func Tables(all []*Recorded, tried map[string]Tried) string {
	var b strings.Builder
	row := func(cells ...string) { fmt.Fprintf(&b, "|%s|\n", strings.Join(cells, "|")) }
	head := []string{""}
	for _, r := range all {
		head = append(head, r.Version)
	}
	row(head...)
	row(strings.Split(strings.Repeat("-", len(head)), "")...)
	protocols, ends := []string{"protocol"}, []string{"end-to-end tests"}
	for _, r := range all {
		protocols = append(protocols, r.Protocol.String())
		end := tried[r.Version].EndToEnd
		if end == "" {
			end = "not run"
		}
		ends = append(ends, end)
	}
	row(protocols...)
	row(ends...)
	for _, c := range Checks() {
		what := c.What
		if c.Quirk != 0 { // protocol.md describes them
			what = fmt.Sprintf("quirk %d", c.Quirk)
		}
		cells := []string{what}
		for _, r := range all {
			cells = append(cells, c.Of(r).String())
		}
		row(cells...)
	}
	b.WriteString("\nNo recording shows these quirks:\n\n")
	row("quirk", "why")
	row("-", "-")
	unseen := Unseen()
	for _, number := range slices.Sorted(maps.Keys(unseen)) {
		row(fmt.Sprint(number), unseen[number])
	}
	return b.String()
}

// InShort returns the README's cell about versions: those with which all end-to-end tests pass, and the other recorded ones.
func InShort(all []*Recorded, tried map[string]Tried) string {
	var pass, others []string
	for _, r := range all {
		if tried[r.Version].EndToEnd == "pass" {
			pass = append(pass, r.Version)
		} else {
			others = append(others, r.Version)
		}
	}
	return fmt.Sprintf("all end-to-end tests pass with %s; what these and %s do [is recorded](docs/dev/droids.md)", listed(pass), listed(others))
}

func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Changes describes how each version differs from the previous one.
func Changes(all []*Recorded) string {
	var b strings.Builder
	for i := 1; i < len(all); i++ {
		fmt.Fprintf(&b, "== %s, compared with %s\n", all[i].Version, all[i-1].Version)
		for _, line := range Compare(all[i-1], all[i]) {
			fmt.Fprintf(&b, "%s\n", line)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
