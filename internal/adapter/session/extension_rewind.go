package session

import (
	"context"
	"errors"
	"slices"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
)

// RewindParams are the params of _droid/rewind.
type RewindParams struct {
	MessageID string `json:"messageId"` // of the prompt to go back to, see _droid/rewind_points
	Files     string `json:"files"`     // rewindFilesRestore, or rewindFilesNone, which "" is, too
	DryRun    bool   `json:"dryRun"`    // only reports what would change
	Cancel    bool   `json:"cancel"`    // cancels a prompt that runs, and those that wait
}

// Values of rewindParams.Files.
const (
	rewindFilesNone    = "none"
	rewindFilesRestore = "restore"
)

// RewindResult is the result of _droid/rewind.
type RewindResult struct {
	DroidSessionID string       `json:"droidSessionId"` // in which the thread continues; "" for a dry run
	Files          []RewindFile `json:"files"`
	Restored       int          `json:"restored"`
	Deleted        int          `json:"deleted"`
	Failed         int          `json:"failed"`
	Evicted        int          `json:"evicted"` // whose old text droid no longer has
}

// RewindFile is a file that droid has edited since.
type RewindFile struct {
	Path    string `json:"path"`
	Action  string `json:"action"` // restore or delete
	Status  string `json:"status"` // see rewindStatus
	Unsaved bool   `json:"unsaved"`
	Left    bool   `json:"left"` // it stays as it is, as it has changes of somebody else's, or may have
}

// rewindStatus maps what happened to a file since droid's first edit that is to be undone.
var rewindStatus = map[render.EditStatus]string{
	render.OnlyEdited: "edited", render.FileGone: "missing", render.FileUnknown: "unknown", render.FileChanged: "changed",
}

// RewindTo goes back to before a prompt, as /rewind does. Nobody is asked, so files that may have changes of the user's stay.
func (s *Session) RewindTo(ctx context.Context, params RewindParams) (result RewindResult, err *jsonrpc.Error) {
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
	change, err := s.beginChange(ctx, turns.General)
	if err != nil {
		return result, err
	}
	defer s.prompts.FinishChange(change, nil)
	info, err := s.loadWhole(ctx)
	if err != nil {
		return result, err
	}
	points := RewindPoints(info.Messages)
	at := slices.IndexFunc(points, func(p RewindPoint) bool { return p.MessageID == params.MessageID })
	if at < 0 {
		return result, acperr.InvalidParams("messageId %.80q is not that of a prompt in this conversation; _droid/rewind_points has those", params.MessageID)
	}
	plan, failure := s.PlanRewind(ctx, info, points[at], params.Files == rewindFilesRestore)
	switch {
	case failure != nil:
		return result, plan.failed(ctx, failure)
	case params.DryRun:
		plan.leaveUnsafe()
		return plan.result(), nil
	case plan.endsBackground():
		return result, acperr.InvalidRequest("droid runs commands in the background, which a rewind would end; stop them first")
	}
	plan.leaveUnsafe()
	text, failure := s.Rewind(ctx, plan)
	if failure != nil {
		return result, plan.failed(ctx, failure)
	}
	s.notifyInOrder(RewoundTo(at+1) + text) // another client of the session shows the messages that are gone
	return plan.result(), nil
}

// failed returns the error of a request whose rewind failed. The plan is nil if there was none yet.
func (p *RewindPlan) failed(ctx context.Context, why error) *jsonrpc.Error {
	switch {
	case ctx.Err() != nil && (p == nil || p.done.NewSessionID == ""):
		return acperr.Cancelled()
	case p == nil, errors.As(why, new(*stream.RPCError)) && p.done.NewSessionID == "":
		return acperr.Internal("rewind_failed", why.Error())
	case p.done.NewSessionID == "":
		return acperr.Internal("rewind_unknown", why.Error())
	}
	return acperr.Internal("rewind_unknown", "The conversation goes on as it was. "+p.done.text(p.w.s.show)+" "+why.Error())
}

// result says what became of the files, or would.
func (p *RewindPlan) result() RewindResult {
	result := RewindResult{
		DroidSessionID: p.done.NewSessionID, Files: []RewindFile{}, Restored: p.done.Restored, Deleted: p.done.Deleted,
		Failed: p.done.FailedRestores + p.done.FailedDeletes, Evicted: p.done.evicted,
	}
	for _, f := range p.all {
		action := "restore"
		if f.Deleted {
			action = "delete"
		}
		left := slices.Contains(p.done.unasked, f.Path) || slices.Contains(p.done.left, f.Path)
		result.Files = append(result.Files, RewindFile{f.Path, action, rewindStatus[f.Status], f.Unsaved, left})
	}
	return result
}
