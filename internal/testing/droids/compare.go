package droids

import (
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/testing/fixture"
)

// floating are kinds that droid sends at arbitrary times: their order and number are irrelevant.
var floating = map[string]bool{
	"session_token_usage_changed": true, "session_title_updated": true, "mcp_status_changed": true,
	"tool_progress_update": true, "tool_call": true, "llm_retry": true,
}

// Compare describes, one difference per line, how b differs from a: kinds of messages and fields that are new, removed or renamed, in which
// scenarios messages appear or disappear, and where the order differs.
func Compare(a, b *Recorded) []string {
	c := comparison{a: a, b: b, lines: map[string][]string{}}
	c.kinds()
	for _, name := range sorted(a.Talks) {
		if _, both := b.Talks[name]; both {
			c.talk(name, a.Talks[name], b.Talks[name])
		}
	}
	var lines []string
	for _, line := range sorted(c.lines) {
		if in := c.lines[line]; len(in) > 0 {
			line += " (" + strings.Join(in, ", ") + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

type comparison struct {
	a, b    *Recorded
	lines   map[string][]string // with the scenarios in which they occur
	renamed map[string]string   // kinds
	gone    map[string]bool     // reported kinds, including new ones
}

func (c *comparison) say(in, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if c.lines[line] == nil {
		c.lines[line] = []string{}
	}
	if in != "" {
		c.lines[line] = append(c.lines[line], in)
	}
}

// fields returns all fields of each kind that droid sends, with a value.
func (r *Recorded) fields(of *Recorded) map[string]map[string]string {
	found := map[string]map[string]string{}
	for _, name := range sorted(r.Talks) {
		if _, both := of.Talks[name]; !both {
			continue
		}
		for _, s := range r.Talks[name] {
			if s.Dir != fixture.FromDroid {
				continue
			}
			if found[s.Kind] == nil {
				found[s.Kind] = map[string]string{}
			}
			for field, value := range s.Fields() {
				if was := found[s.Kind][field]; was == "" || was == null {
					found[s.Kind][field] = value
				}
			}
		}
	}
	return found
}

// kinds compares the kinds and their fields.
func (c *comparison) kinds() {
	before, after := c.a.fields(c.b), c.b.fields(c.a)
	c.renamed, c.gone = map[string]string{}, map[string]bool{}
	gone, added := apart(before, after)
	for _, kind := range gone {
		c.gone[kind] = true
		for _, other := range added {
			if c.renamed[other] == "" && alike(before[kind], after[other]) && c.gone[kind] {
				c.say("", "renamed: %s is %s", kind, other)
				c.renamed[kind], c.renamed[other] = other, kind
				c.gone[kind] = false
			}
		}
		if c.gone[kind] {
			c.say("", "gone: %s", kind)
		}
	}
	for _, kind := range added {
		if c.gone[kind] = true; c.renamed[kind] == "" {
			c.say("", "new: %s", kind)
		}
	}
	for _, kind := range sorted(before) {
		if after[kind] == nil {
			continue
		}
		gone, added := apart(before[kind], after[kind])
		for _, field := range gone {
			i := slices.IndexFunc(added, func(other string) bool {
				return parent(other) == parent(field) && before[kind][field] == after[kind][other]
			})
			if i < 0 {
				c.say("", "field gone: %s of %s", field, kind)
				continue
			}
			c.say("", "field renamed: %s of %s is %s", field, kind, added[i])
			added = slices.Delete(added, i, i+1)
		}
		for _, field := range added {
			c.say("", "field new: %s of %s", field, kind)
		}
	}
}

// null is JSON's null in Fields.
const null = "<nil>"

func parent(field string) string { return field[:strings.LastIndex(field, ".")+1] }

// apart returns the names that only the first has, and those that only the second has.
func apart[V any](a, b map[string]V) (gone, added []string) {
	for _, name := range sorted(a) {
		if _, there := b[name]; !there {
			gone = append(gone, name)
		}
	}
	for _, name := range sorted(b) {
		if _, there := a[name]; !there {
			added = append(added, name)
		}
	}
	return gone, added
}

// alike reports whether two kinds have mostly the same fields.
func alike(a, b map[string]string) bool {
	both := 0
	for field := range a {
		if _, there := b[field]; there && field != "type" {
			both++
		}
	}
	all := len(a) + len(b) - both
	return both > 0 && (len(a) == len(b) && both >= len(a)-1 || 3*both >= 2*all)
}

// talk compares a conversation: its labels, their number, and the order of their first occurrences.
func (c *comparison) talk(name string, a, b Talk) {
	before, after := c.labels(a), c.labels(b)
	counts := func(labels []string) map[string]int {
		n := map[string]int{}
		for _, l := range labels {
			n[l]++
		}
		return n
	}
	was, is := counts(before), counts(after)
	gone, added := apart(was, is)
	for _, label := range gone {
		c.say(name, "no longer: %s", label)
	}
	for _, label := range added {
		c.say(name, "now also: %s", label)
	}
	for _, label := range sorted(was) {
		if is[label] > 0 && is[label] != was[label] {
			c.say(name, "%s: %s instead of %s", label, times(is[label]), times(was[label]))
		}
	}
	common := func(labels []string) (firsts []string) {
		for _, l := range labels {
			if was[l] > 0 && is[l] > 0 && !slices.Contains(firsts, l) {
				firsts = append(firsts, l)
			}
		}
		return firsts
	}
	order := common(after)
	stay := longestCommon(common(before), order)
	for i, label := range order {
		if !slices.Contains(stay, label) {
			behind := "at the beginning"
			if i > 0 {
				behind = "behind " + order[i-1]
			}
			c.say(name, "reordered: %s now comes %s", label, behind)
		}
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// labels returns those of droid's messages in order, without immediate repetitions. New, removed and renamed kinds are reported already.
func (c *comparison) labels(t Talk) (labels []string) {
	for _, s := range t {
		_, told := c.gone[s.Kind]
		if s.Dir != fixture.FromDroid || floating[s.Kind] || told || len(labels) > 0 && labels[len(labels)-1] == s.Label {
			continue
		}
		labels = append(labels, s.Label)
	}
	return labels
}

// longestCommon returns the longest common subsequence.
func longestCommon(a, b []string) []string {
	best := make([][][]string, len(a)+1)
	for i := range best {
		best[i] = make([][]string, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			switch {
			case a[i] == b[j]:
				best[i][j] = append([]string{a[i]}, best[i+1][j+1]...)
			case len(best[i+1][j]) >= len(best[i][j+1]):
				best[i][j] = best[i+1][j]
			default:
				best[i][j] = best[i][j+1]
			}
		}
	}
	return best[0][0]
}
