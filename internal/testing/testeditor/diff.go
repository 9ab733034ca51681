package testeditor

import (
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

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
// line that both have. The comparison is the one of the Go tools, which bounds its work.
func compare(a, b []string) (hunks []hunk) {
	for _, d := range lcs.DiffLines(a, b) {
		hunks = append(hunks, hunk{span{d.Start, d.End}, span{d.ReplStart, d.ReplEnd}})
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
