package testeditor

import (
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// span is a range of lines, excluding the last.
type span struct{ from, to int }

func (s span) size() int { return s.to - s.from }

// hunk replaces a range of lines by another.
type hunk struct{ old, new span }

// splitLines returns the lines of a text, with their ends.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// compare returns the hunks that turn a into b, in order, separated by at least one common line. It uses the algorithm of the Go tools,
// which bounds its work.
func compare(a, b []string) (hunks []hunk) {
	for _, d := range lcs.DiffLines(a, b) {
		hunks = append(hunks, hunk{span{d.Start, d.End}, span{d.ReplStart, d.ReplEnd}})
	}
	return hunks
}

// rebase applies the changes from before to after to base as well, except those that touch lines in which before differs from base.
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

// touch reports whether a change in the user's lines overlaps the agent's lines. Lines inserted directly before or after the agent's are
// the user's; where the agent has removed lines, each adjacent change overlaps.
func touch(agent, user span) bool {
	if agent.size() == 0 {
		return user.from <= agent.from && agent.from <= user.to
	}
	return user.from < agent.to && agent.from < user.to
}
