package trace

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Text writes the conversation for a terminal: each line, below a line of droid the events that it caused, and below these what the editor
// was sent for it.
func (c *Conversation) Text(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, line := range c.Summary() {
		fmt.Fprintln(out, line)
	}
	width := 0
	for _, row := range c.Rows {
		width = max(width, len(row.From)+len(row.To))
	}
	for at := 0; at < len(c.Rows); {
		row, pieces := c.Rows[at], c.pieces(at)
		if len(pieces) <= fewPieces {
			pieces = pieces[:1]
		}
		at += len(pieces)
		way := ""
		if row.From != "" {
			way = row.From + " → " + row.To + strings.Repeat(" ", width-len(row.From)-len(row.To))
		}
		if len(pieces) > 1 {
			fmt.Fprintf(out, "%5d %s  %s  %s\n", row.N, clock(row.Time), way, folded(pieces))
			continue
		}
		fmt.Fprintf(out, "%5d %s  %s  %s\n", row.N, clock(row.Time), way, row.What)
		for _, line := range row.Details() {
			fmt.Fprintln(out, "                       "+line)
		}
	}
	return out.Flush()
}

// Summary returns lines about the whole trace.
func (c *Conversation) Summary() (lines []string) {
	for _, h := range c.Trace.Heads {
		lines = append(lines, fmt.Sprintf("droid-acp %s on %s, process %d, from %s on", h.Version, h.System, h.Agent, h.Time.Local().Format("2006-01-02 15:04:05")))
	}
	for _, missing := range c.Trace.Missing {
		lines = append(lines, "Missing: "+missing)
	}
	return append(lines, About)
}

// Details returns what became of a line of droid, or what a line to the editor was sent for, a text for each.
func (r *Row) Details() (lines []string) {
	for _, ev := range r.Events {
		lines = append(lines, "= "+ev)
	}
	for _, other := range r.Rows {
		if other.N > r.N {
			kind, _, _ := strings.Cut(other.What, " ")
			lines = append(lines, fmt.Sprintf("→ %d %s, %s later", other.N, kind, elapsed(r.Time, other.Time)))
		}
	}
	var causes []string
	for _, other := range r.Rows {
		if other.N < r.N {
			causes = append(causes, fmt.Sprint(other.N))
		}
	}
	if n := len(causes); n > 0 {
		if n > 4 {
			causes = append(append(causes[:2:2], "…"), causes[n-1])
		}
		lines = append(lines, "← "+strings.Join(causes, ", "))
	}
	return lines
}

// fewPieces is how many lines of one streamed message are shown one by one.
const fewPieces = 4

// pieces returns the lines from the given one on that are pieces of the same streamed message, as droid wrote them and as the editor was
// sent them; at least that line.
func (c *Conversation) pieces(at int) []*Row {
	to := at + 1
	for to < len(c.Rows) && c.Rows[at].run != "" && c.Rows[to].run == c.Rows[at].run {
		to++
	}
	return c.Rows[at:to]
}

// folded returns pieces of a message on one line.
func folded(pieces []*Row) string {
	var whole strings.Builder
	sent := 0
	for _, row := range pieces {
		whole.WriteString(row.text)
		if row.To == "editor" {
			sent++
		}
	}
	last := pieces[len(pieces)-1]
	return fmt.Sprintf("%s, %d lines to %d, %d of them to the editor, in %s: %s",
		pieces[0].run, len(pieces), last.N, sent, elapsed(pieces[0].Time, last.Time), short(fmt.Sprintf("%q", whole.String())))
}
