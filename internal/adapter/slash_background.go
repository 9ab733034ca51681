package adapter

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"droid-acp/internal/adapter/internal/background"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// backgroundCommand lists the commands that droid has left in the background, or stops one.
func backgroundCommand(r *commandRun, args string) {
	left := r.s.proc.Left.Running()
	if number, ok := strings.CutPrefix(args, "stop"); ok {
		r.stopLeft(left, strings.TrimSpace(number))
		return
	}
	var b strings.Builder
	for _, c := range left {
		fmt.Fprintf(&b, "- %d: %s, for %s, process %d\n", c.Number, namedLeft(c), time.Since(c.Since).Round(time.Second), c.PID)
	}
	if len(left) > 0 {
		b.WriteString("\n`/background stop NUMBER` stops one. All of them end with this session.")
	}
	if r.s.proc.NotWatched() {
		b.WriteString("\n\ndroid may have left a command in the background that cannot be seen from here.")
	}
	if b.Len() == 0 {
		b.WriteString("Nothing runs in the background.")
	}
	r.reply(b.String())
}

// stopBackground stops the command with a number.
func (r *commandRun) stopLeft(left []*background.Command, number string) {
	for _, c := range left {
		if strconv.Itoa(c.Number) != number {
			continue
		}
		if r.s.stopBackground(r.s.Context, c) {
			r.reply("Stopped: " + namedLeft(c))
		} else {
			r.reply(namedLeft(c) + " was not stopped: it does not end.")
		}
		return
	}
	r.reply("No command in the background has the number " + number + "; `/background` lists them.")
}

func namedLeft(c *background.Command) string { return markdown.Code(visible.Line(c.Line)) }
