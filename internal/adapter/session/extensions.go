package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// Extension methods that return the state of a session, or change it, without its history.

// StatsResult is the result of _droid/stats.
type StatsResult struct {
	Tokens   stream.TokenUsage `json:"tokens"`
	LastCall stream.TokenUsage `json:"lastCall"`
	Context  *contextUse       `json:"context"` // null if droid does not report it
}

// contextUse is how full the context window is, in tokens.
type contextUse struct {
	Used int64 `json:"used"`
	Size int64 `json:"size"`
}

// Stats returns how many tokens the session has used.
func (s *Session) Stats() StatsResult {
	told := s.usage.told
	result := StatsResult{Tokens: told.Total, LastCall: told.LastCall}
	if used, size := s.usage.used, s.usage.size; size > 0 {
		result.Context = &contextUse{used, size}
	}
	return result
}

// CommandsResult is the result of _droid/commands.
type CommandsResult struct {
	Commands []protocol.AvailableCommand `json:"commands"`
}

// ListedCommands returns the commands that the editor is offered.
func (s *Session) ListedCommands() CommandsResult { return CommandsResult{s.allCommands()} }

// ModelsResult is the result of _droid/models; the models are in droid's shape.
type ModelsResult struct {
	CurrentModelID string            `json:"currentModelId"`
	Models         []json.RawMessage `json:"models"`
}

// Models returns the models that droid offers.
func (s *Session) Models() ModelsResult {
	models := []json.RawMessage{}
	for _, m := range s.options.Models() {
		models = append(models, m.Raw)
	}
	return ModelsResult{options.OrEmpty(s.options.Settings().ModelID), models}
}

// AutoCompactionParams are the params of _droid/set_auto_compaction.
type AutoCompactionParams struct {
	Enabled *bool `json:"enabled"`
}

// AutoCompactionResult has droid's setting after the change.
type AutoCompactionResult struct {
	Enabled bool `json:"enabled"`
}

// SwitchAutoCompaction switches automatic compaction in its turn.
func (s *Session) SwitchAutoCompaction(ctx context.Context, p AutoCompactionParams) (AutoCompactionResult, *jsonrpc.Error) {
	if p.Enabled == nil {
		return AutoCompactionResult{}, acperr.InvalidParams("enabled is missing")
	}
	change, err := s.beginChange(ctx, turns.General)
	if err != nil {
		return AutoCompactionResult{}, err
	}
	defer s.prompts.FinishChange(change, nil)
	return AutoCompactionResult{*p.Enabled}, s.setAutoCompaction(s.Context, *p.Enabled)
}

// Extension methods that need the whole conversation, which droid returns only while no prompt runs.

// whole returns the whole conversation. remedy says what the caller can do if a prompt runs.
func (s *Session) whole(ctx context.Context, remedy string) (*stream.SessionInfo, *jsonrpc.Error) {
	if s.prompts.Busy() {
		return nil, acperr.InvalidRequest("the session works on a prompt; " + remedy)
	}
	change, err := s.beginChange(ctx, turns.General)
	if err != nil {
		return nil, err
	}
	defer s.prompts.FinishChange(change, nil)
	return s.loadWhole(ctx)
}

// history returns the messages of the whole conversation, in its turn.
func (s *Session) history(ctx context.Context) ([]stream.Message, *jsonrpc.Error) {
	info, err := s.whole(ctx, "ask again when it has ended")
	if err != nil {
		return nil, err
	}
	return info.Messages, nil
}

// MessagesResult is the result of _droid/messages.
type MessagesResult struct {
	Messages []HistoryMessage `json:"messages"`
}

// HistoryMessage is one message with droid's content blocks.
type HistoryMessage struct {
	ID      string            `json:"id"`
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

// Messages returns the messages of the whole conversation. It is refused while a prompt runs.
func (s *Session) Messages(ctx context.Context) (MessagesResult, *jsonrpc.Error) {
	history, err := s.history(ctx)
	messages := []HistoryMessage{}
	for _, m := range history {
		out := HistoryMessage{m.ID, m.Role, []json.RawMessage{}}
		for _, block := range m.Content {
			out.Content = append(out.Content, block.JSON())
		}
		messages = append(messages, out)
	}
	return MessagesResult{messages}, err
}

// LastTextResult is the result of _droid/last_assistant_text.
type LastTextResult struct {
	Text string `json:"text"`
}

// LastAssistantText returns the text of the last message of droid's. It is refused while a prompt runs.
func (s *Session) LastAssistantText(ctx context.Context) (LastTextResult, *jsonrpc.Error) {
	history, err := s.history(ctx)
	id, last := "", ""
	for _, ev := range quirks.History(history) {
		if said, ok := ev.(quirks.Text); ok && !said.Thought {
			if said.MessageID != id {
				id, last = said.MessageID, ""
			}
			last += said.Text
		}
	}
	return LastTextResult{last}, err
}

// RewindPointsResult is the result of _droid/rewind_points.
type RewindPointsResult struct {
	Points []NumberedPoint `json:"points"`
}

// NumberedPoint is a prompt, with the NUMBER by which "/rewind NUMBER" goes back to
// before it.
type NumberedPoint struct {
	Number    int      `json:"number"`
	MessageID string   `json:"messageId"`
	Text      string   `json:"text"`
	Files     []string `json:"files"` // that droid has edited since
}

// RewindPoints returns the prompts to go back to. It is refused while a prompt runs.
func (s *Session) RewindPoints(ctx context.Context) (RewindPointsResult, *jsonrpc.Error) {
	history, err := s.history(ctx)
	points := []NumberedPoint{}
	for i, p := range RewindPoints(history) {
		points = append(points, NumberedPoint{i + 1, p.MessageID, p.Text, editedFiles(history, p.MessageID, s.cwd)})
	}
	return RewindPointsResult{points}, err
}

// ExportParams are the params of _droid/export.
type ExportParams struct {
	Path      string `json:"path"`      // "" for a default name in the session's directory
	Directory bool   `json:"directory"` // the page names the session's directory
}

// ExportedFile is the file that was written.
type ExportedFile struct {
	Path string `json:"path"`
}

// ExportPage writes the conversation to one HTML file. It is refused while a prompt runs.
func (s *Session) ExportPage(ctx context.Context, p ExportParams) (ExportedFile, *jsonrpc.Error) {
	info, err := s.whole(ctx, "export it when that has ended")
	if err != nil {
		return ExportedFile{}, err
	}
	path, failed := s.Export(ctx, info, p.Path, p.Directory)
	if failed != nil {
		return ExportedFile{}, acperr.Internal("export_failed", "The conversation was not exported: "+failed.Error())
	}
	return ExportedFile{path}, nil
}

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
	}
	return acperr.Internal("rewind_unknown", why.Error())
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
