package adapter

import (
	"context"
	"errors"
	"slices"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/opening"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
)

// rewindParams are the params of _droid/rewind.
type rewindParams struct {
	MessageID string `json:"messageId"` // of the prompt to go back to, see _droid/rewind_points
	Files     string `json:"files"`     // rewindFilesRestore, or rewindFilesNone, which "" is, too
	DryRun    bool   `json:"dryRun"`    // only tells what would change
	Cancel    bool   `json:"cancel"`    // cancels a prompt that runs, and those that wait
}

// Values of rewindParams.Files.
const (
	rewindFilesNone    = "none"
	rewindFilesRestore = "restore"
)

// rewindResult is the result of _droid/rewind.
type rewindResult struct {
	DroidSessionID string       `json:"droidSessionId"` // in which the thread goes on; "" for a dry run
	Files          []rewindFile `json:"files"`
	Restored       int          `json:"restored"`
	Deleted        int          `json:"deleted"`
	Failed         int          `json:"failed"`
	Evicted        int          `json:"evicted"` // whose old text droid no longer has
}

// rewindFile is a file that droid has edited since.
type rewindFile struct {
	Path    string `json:"path"`
	Action  string `json:"action"` // restore or delete
	Status  string `json:"status"` // see rewindStatus
	Unsaved bool   `json:"unsaved"`
	Left    bool   `json:"left"` // it stays as it is, as it has changes of somebody else's, or may have
}

// rewindStatus has what became of a file since droid's first edit to be undone.
var rewindStatus = map[render.EditStatus]string{
	render.OnlyEdited: "edited", render.FileGone: "missing", render.FileUnknown: "unknown", render.FileChanged: "changed",
}

// rewindExtension goes back to before a prompt, as /rewind does. Nobody is asked, so files that may have changes of the user's stay.
func rewindExtension(ctx context.Context, s *Session, params rewindParams) (result rewindResult, err *jsonrpc.Error) {
	switch {
	case params.MessageID == "":
		return result, acperr.InvalidParams("messageId is missing")
	case !slices.Contains([]string{"", rewindFilesNone, rewindFilesRestore}, params.Files):
		return result, acperr.InvalidParams("files is %.80q; it can be %q or %q", params.Files, rewindFilesNone, rewindFilesRestore)
	}
	if params.Cancel && !params.DryRun {
		s.cancelPrompts()
		if err = s.waitFor(ctx, "_droid/rewind", needQuiet); err != nil {
			return result, err
		}
	}
	if s.prompts.Busy() {
		return result, acperr.InvalidRequest("the session works on a prompt; ask again when it has ended, or with cancel")
	}
	change, err := s.awaitTurn(ctx, turns.Session)
	if err != nil {
		return result, err
	}
	defer s.prompts.FinishChange(change, nil)
	info, err := s.loadWhole(ctx)
	if err != nil {
		return result, err
	}
	points := rewindPoints(info.Messages)
	at := slices.IndexFunc(points, func(p rewindPoint) bool { return p.MessageID == params.MessageID })
	if at < 0 {
		return result, acperr.InvalidParams("messageId %.80q is not that of a prompt in this conversation; _droid/rewind_points has those", params.MessageID)
	}
	within := func(ctx context.Context) unlockedRun {
		return func(f func(context.Context) error) error { return s.unlockedFor(ctx, opening.Time, f) }
	}
	plan, failure := s.planRewind(within(ctx), info, points[at], params.Files == rewindFilesRestore)
	switch {
	case ctx.Err() != nil:
		return result, acperr.Cancelled()
	case failure != nil:
		return result, notRewound(failure)
	}
	named := plan.named()
	if plan.leaveUnsafe(); !params.DryRun {
		if err = s.carryOut(ctx, plan, within(s.Context)); err != nil {
			return result, err
		}
	}
	return plan.result(named), nil
}

// carryOut goes back, and has the thread go on in the session that droid made for that. Once droid is asked it is not given up.
func (s *Session) carryOut(ctx context.Context, plan *rewindPlan, run unlockedRun) *jsonrpc.Error {
	if !plan.staysAlive() && s.proc.Background() {
		return acperr.InvalidRequest("droid runs commands in the background, which a rewind would end; stop them first")
	}
	given := s.name.Given()
	titles, err := s.take(ctx, &s.titles, "a rewind", needTitle)
	if err != nil {
		return err
	}
	defer titles()
	failure := plan.carryOut(run)
	for _, path := range plan.saved {
		s.update(render.SavedNotice(path))
	}
	switch {
	case errors.As(failure, new(*stream.RPCError)):
		return notRewound(failure)
	case failure != nil:
		return halfRewound("Whether files were restored is not known: " + plainly(failure).Error())
	}
	claimed, err := s.moveTo(s.Context, plan.next, !plan.staysAlive())
	switch {
	case !claimed:
		return halfRewound(plan.text(s.show) + " The session that droid made, " + plan.next.ID + ", has been opened as a thread of its own already.")
	case err != nil:
		return halfRewound(plan.text(s.show) + " The session that droid made, " + plan.next.ID + ", could not be loaded: " + acperr.Text(err))
	}
	titles() // it has another one from here on
	s.carryTitle(s.Context, plan.next.Title, given)
	if lost := plan.next.Lost(); lost != "" {
		s.update(render.Notice("The thread was rewound." + lost))
	}
	return nil
}

func notRewound(why error) *jsonrpc.Error {
	return acperr.Internal("rewind_failed", "The session was not rewound: "+plainly(why).Error())
}

// halfRewound says what is known of the files where the conversation goes on as it was.
func halfRewound(files string) *jsonrpc.Error {
	return acperr.Internal("rewind_unknown", "The conversation goes on as it was. "+files)
}

// result tells what became of these files, or would.
func (p *rewindPlan) result(named []render.RewoundFile) rewindResult {
	result := rewindResult{
		DroidSessionID: p.NewSessionID, Files: []rewindFile{}, Restored: p.Restored, Deleted: p.Deleted, Failed: p.FailedRestores + p.FailedDeletes, Evicted: p.evicted,
	}
	for _, f := range named {
		action := "restore"
		if f.Deleted {
			action = "delete"
		}
		left := slices.Contains(p.unasked, f.Path) || slices.Contains(p.left, f.Path)
		result.Files = append(result.Files, rewindFile{f.Path, action, rewindStatus[f.Status], f.Unsaved, left})
	}
	return result
}
