package adapter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
)

// rewindCommand goes back to before one of the user's prompts, or lists them.
func rewindCommand(r *commandRun, args string) {
	const failed = "The session was not rewound"
	info := r.history(failed)
	if info == nil {
		return
	}
	points, fields := rewindPoints(info.Messages), strings.Fields(args)
	switch {
	case len(points) == 0:
		r.reply("There is no prompt to go back to. Prompts before a summary cannot be rewound; `/fork before` reopens them.")
		return
	case len(fields) == 0:
		r.reply(listRewindPoints(points))
		return
	}
	n, err := strconv.Atoi(fields[0])
	if err != nil || n < 1 || n > len(points) {
		r.fail(failed, fmt.Errorf("%s is not the number of a prompt; they go from 1 to %d", fields[0], len(points)))
		return
	}
	plan, err := r.s.planRewind(r.unlocked, info, points[n-1], len(fields) > 1)
	if err != nil {
		r.fail(failed, err)
		return
	}
	ends := !plan.staysAlive() && r.s.proc.Background()
	if ends || len(plan.files) > 0 {
		question := r.s.show.RewindQuestion(plan.named(), ends)
		if question == nil { // nobody can be asked
			plan.leaveUnsafe()
		}
		if !r.agree(question, "Not rewound", "Agreed: go back") || r.over() {
			return
		}
	}
	titles, none := r.s.take(r.work, &r.s.titles, "a rewind", needTitle)
	if none != nil {
		return // it was cancelled, or the session ends
	}
	defer titles()
	// From here on a cancel ends the command when droid has answered: what became of the
	// conversation and the files is told in every case.
	r.keep()
	err = plan.carryOut(r.unlocked)
	for _, path := range plan.saved {
		r.s.update(render.SavedNotice(path))
	}
	var refused *stream.RPCError
	switch {
	case errors.As(err, &refused):
		r.fail(failed, err)
		return
	case err != nil:
		r.fail("The session goes on as it was. Whether files were restored is not known", plainly(err))
		return
	}
	text := plan.text(r.s.show)
	if r.switchSession(plan.next, !plan.staysAlive()) {
		titles() // it has another one from here on
		hint := r.arrived(plan.next)
		r.reply(fmt.Sprintf("This thread is back at the point before prompt %d. ", n) + text + hint)
	}
}
