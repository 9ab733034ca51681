package filecalls

import (
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// Work is the operation of a Job on the editor's files.
type Work int

const (
	// Read has droid see the text that the editor has. Where that is not on the disk, droid
	// reads a private file in place of the one it named, see At.
	Read Work = iota
	// Prepare has the disk hold what the editor has, before an edit.
	Prepare
	// Pause lets others edit the files while the user is asked.
	Pause
	// Settle waits for edits that are on their way to the editor.
	Settle
	// Deliver takes to the editor what droid has written.
	Deliver
	// Leave has it stay on the disk alone.
	Leave
)

// Job is work with the files of a call. It blocks, and ends with Done.
type Job struct {
	Work  Work
	Call  quirks.ToolInput // as droid announced it
	Files []string         // of the call, by absolute path
	// Shown says that the user has seen the call. If preparing it changes a file, what they
	// had not saved would seem to be droid's in the diff, so the call is shown again.
	Shown bool
}

// Done notes that a job has ended. If its call ended in the meantime, what that holds is let go.
func (c *Calls) Done(job Job) {
	if c.overlay != nil && !c.Has(job.Call.ID) {
		c.overlay.Drop(job.Call.ID)
	}
}

// BeforeShown returns the jobs to do before the files are read that an event is shown with.
func (c *Calls) BeforeShown(ev quirks.Event, files []string) (jobs []Job) {
	switch ev := ev.(type) {
	case quirks.PermissionRequested:
		// The disk has what the editor has before the user is asked for an edit, so that the
		// diff is the right one. A droid that asks before it runs hooks (0.99) needs that; others
		// have run them. The user may take long, and others may edit in the meantime.
		for _, o := range c.asked(ev.Tools) {
			if o.stage == announced {
				jobs = append(jobs, Job{Work: Prepare, Call: o.told, Files: o.files})
			}
			jobs = append(jobs, Job{Work: Pause, Call: o.told})
		}
	case quirks.ToolEnded:
		// A droid that reports the result before the hook (0.99) has its edit on the way to
		// the editor now.
		if c.overlay != nil {
			jobs = []Job{{Work: Settle, Call: quirks.ToolInput{ID: ev.ID}, Files: files}}
		}
	}
	return jobs
}

// BeforeAnswer prepares edits again before droid hears that the user allows these calls: they
// may have typed into the files in the meantime. Those whose hook is still to come (0.99) are none
// of them.
func (c *Calls) BeforeAnswer(tools []stream.PermissionToolUse) (jobs []Job) {
	for _, o := range c.asked(tools) {
		if o.stage != announced {
			jobs = append(jobs, Job{Work: Prepare, Call: o.told, Files: o.files, Shown: true})
		}
	}
	return jobs
}

// asked returns those of the calls that the user is asked for which change files.
func (c *Calls) asked(tools []stream.PermissionToolUse) (calls []*call) {
	for _, tool := range tools {
		if o := c.call(tool.ToolUse.ID); o != nil && o.edits() {
			calls = append(calls, o)
		}
	}
	return calls
}
