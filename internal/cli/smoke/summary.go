package smoke

import (
	"fmt"
	"strings"
	"time"
)

// summary shows what a run came to.
func (v *viewer) summary(r *Result) {
	for i, line := range r.Summary() {
		label, s := "", style("")
		if i == 0 {
			if label, s = "summary", red; r.Outcome == Passed {
				s = green
			}
		}
		v.styled(label, s, line)
	}
}

// Summary tells people what a run came to, in a few lines: the prompts, the work, and
// why prompts did not pass.
func (r *Result) Summary() []string {
	t := r.Totals
	first := fmt.Sprintf("%s: %d passed, %d failed", count(t.Prompts, "prompt"), t.Passed, t.Failed)
	if t.NotRun > 0 {
		first += fmt.Sprintf(", %d not run", t.NotRun)
	}
	if t.Expectations > 0 {
		first += fmt.Sprintf("; %d of %s met", t.Met, count(t.Expectations, "expectation"))
	}
	work := []string{count(t.ToolCalls, "tool call")}
	if t.ToolCallsFailed > 0 {
		work[0] += fmt.Sprintf(" (%d failed or refused)", t.ToolCallsFailed)
	}
	work = append(work, count(t.Permissions, "permission"))
	if t.Permissions > 0 {
		work[1] += fmt.Sprintf(" (%d allowed)", t.Allowed)
	}
	work = append(work, time.Duration(r.Seconds*float64(time.Second)).Round(100*time.Millisecond).String())
	if t.Tokens != nil {
		work = append(work, fmt.Sprintf("%s (%d in, %d out)", count(int(t.Tokens.Total), "token"), t.Tokens.Input, t.Tokens.Output))
	}
	lines := []string{first, strings.Join(work, ", ")}
	for i := range r.Prompts {
		if why := r.Prompts[i].reason(); why != "" {
			lines = append(lines, fmt.Sprintf("prompt %d, %s: %s", i+1, r.Prompts[i].Outcome, why))
		}
	}
	return lines
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
