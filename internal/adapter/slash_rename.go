package adapter

import "droid-acp/internal/droid/store"

// renameCommand gives the session a title, as session/set_title does. One that droid stores although the command
// was cancelled meanwhile counts.
func renameCommand(r *commandRun, title string) {
	if title = store.CleanTitle(title); title == "" {
		r.reply("Give a title: `/rename My title`.")
		return
	}
	if r.droid() == nil {
		return
	}
	if err := r.s.renameThread(r.s.Context, title); err != nil {
		r.fail("The session was not renamed", err)
		return
	}
	r.reply("The session is called “" + title + "” now.")
}
