package testeditor

import "strings"

// maxDistance bounds the work of a comparison. Texts that differ by more lines count as
// different in all lines between their common beginning and their common end.
const maxDistance = 1000

// span are the lines from one to another, the last not among them.
type span struct{ from, to int }

func (s span) size() int { return s.to - s.from }

// hunk says that some lines stand where others stood.
type hunk struct{ old, new span }

// splitLines are the lines of a text, with their ends.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// compare are the hunks that make b of a, in order. Between two there is at least one
// line that both have.
func compare(a, b []string) []hunk {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	midA, midB := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(midA) == 0 && len(midB) == 0 {
		return nil
	}
	hunks := shortest(midA, midB)
	for i := range hunks {
		h := &hunks[i]
		h.old.from, h.old.to, h.new.from, h.new.to = h.old.from+head, h.old.to+head, h.new.from+head, h.new.to+head
	}
	return hunks
}

// shortest finds the shortest way from a to b by Myers' greedy algorithm: after d steps
// (a line removed or added), reach[k] is how far one gets in a on the diagonal k, which
// is the place in a minus the place in b.
func shortest(a, b []string) []hunk {
	most := min(len(a)+len(b), maxDistance)
	reach := make([]int, 2*most+3)
	at := func(k int) *int { return &reach[k+most+1] }
	var before [][]int // reach before each step
	for d := 0; d <= most; d++ {
		before = append(before, append([]int(nil), reach[most+1-d:most+2+d]...))
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && *at(k - 1) < *at(k + 1) {
				x = *at(k + 1)
			} else {
				x = *at(k - 1) + 1
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			*at(k) = x
			if x >= len(a) && x-k >= len(b) {
				return wayBack(before, len(a), len(b))
			}
		}
	}
	return []hunk{{span{0, len(a)}, span{0, len(b)}}}
}

// wayBack goes from the end of both texts back to their beginning and joins the steps on
// the way to hunks.
func wayBack(before [][]int, x, y int) []hunk {
	var hunks []hunk // the last one first
	step := func(old, new span) {
		if n := len(hunks); n > 0 && hunks[n-1].old.from == old.to && hunks[n-1].new.from == new.to {
			hunks[n-1].old.from, hunks[n-1].new.from = old.from, new.from
			return
		}
		hunks = append(hunks, hunk{old, new})
	}
	for d := len(before) - 1; d > 0; d-- {
		at := func(k int) int { return before[d][k+d] }
		k := x - y
		if k == -d || k != d && at(k-1) < at(k+1) { // a line was added
			x, y = at(k+1), at(k+1)-k-1
			step(span{x, x}, span{y, y + 1})
		} else {
			x, y = at(k-1), at(k-1)-k+1
			step(span{x, x + 1}, span{y, y})
		}
	}
	for i, j := 0, len(hunks)-1; i < j; i, j = i+1, j-1 {
		hunks[i], hunks[j] = hunks[j], hunks[i]
	}
	return hunks
}

// rebase makes the changes that lead from before to after in base as well, except those
// that touch lines in which before differs from base.
func rebase(base, before, after string) string {
	baseLines, beforeLines, afterLines := splitLines(base), splitLines(before), splitLines(after)
	agents, users := compare(baseLines, beforeLines), compare(beforeLines, afterLines)
	for i := len(users) - 1; i >= 0; i-- {
		u, shift, apart := users[i], 0, true
		for _, g := range agents {
			apart = apart && !touch(g.new, u.old)
			if g.new.to <= u.old.from {
				shift += g.old.size() - g.new.size()
			}
		}
		if apart {
			rest := baseLines[u.old.to+shift:]
			baseLines = append(baseLines[:u.old.from+shift:u.old.from+shift], afterLines[u.new.from:u.new.to]...)
			baseLines = append(baseLines, rest...)
		}
	}
	return strings.Join(baseLines, "")
}

// touch tells whether a change of the user's lines is one of the agent's lines, too.
// Lines added right before or behind the agent's are the user's own; where the agent has
// removed lines, each change beside the place is in touch with it.
func touch(agent, user span) bool {
	if agent.size() == 0 {
		return user.from <= agent.from && agent.from <= user.to
	}
	return user.from < agent.to && agent.from < user.to
}
