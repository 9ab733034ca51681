package adapter

import (
	"context"
	"encoding/json"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
)

// The extension methods that need the whole conversation, which droid tells while
// no prompt runs.

// whole returns the whole conversation. remedy says what the caller can do if a prompt runs.
func (s *Session) whole(ctx context.Context, remedy string) (*stream.SessionInfo, *jsonrpc.Error) {
	if s.prompts.Busy() {
		return nil, acperr.InvalidRequest("the session works on a prompt; " + remedy)
	}
	change, err := s.awaitTurn(ctx, turns.Session)
	if err != nil {
		return nil, err
	}
	defer s.prompts.FinishChange(change, nil)
	return s.loadWhole(ctx)
}

// history returns the messages of the whole conversation.
func (s *Session) history(ctx context.Context) ([]stream.Message, *jsonrpc.Error) {
	info, err := s.whole(ctx, "ask again when it has ended")
	if err != nil {
		return nil, err
	}
	return info.Messages, nil
}

// messagesResult is the result of _droid/messages.
type messagesResult struct {
	Messages []historyMessage `json:"messages"`
}

// historyMessage is one message with droid's content blocks.
type historyMessage struct {
	ID      string            `json:"id"`
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

func (s *Session) messages(ctx context.Context, _ NoParams) (messagesResult, *jsonrpc.Error) {
	history, err := s.history(ctx)
	messages := []historyMessage{}
	for _, m := range history {
		out := historyMessage{m.ID, m.Role, []json.RawMessage{}}
		for _, block := range m.Content {
			out.Content = append(out.Content, block.JSON())
		}
		messages = append(messages, out)
	}
	return messagesResult{messages}, err
}

// lastTextResult is the result of _droid/last_assistant_text.
type lastTextResult struct {
	Text string `json:"text"`
}

func (s *Session) lastAssistantText(ctx context.Context, _ NoParams) (lastTextResult, *jsonrpc.Error) {
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
	return lastTextResult{last}, err
}

// rewindPointsResult is the result of _droid/rewind_points.
type rewindPointsResult struct {
	Points []numberedPoint `json:"points"`
}

// numberedPoint is a prompt, with the NUMBER by which "/rewind NUMBER" goes back to
// before it.
type numberedPoint struct {
	Number    int      `json:"number"`
	MessageID string   `json:"messageId"`
	Text      string   `json:"text"`
	Files     []string `json:"files"` // that droid has edited since
}

func (s *Session) rewindPoints(ctx context.Context, _ NoParams) (rewindPointsResult, *jsonrpc.Error) {
	history, err := s.history(ctx)
	points := []numberedPoint{}
	for i, p := range RewindPoints(history) {
		points = append(points, numberedPoint{i + 1, p.MessageID, p.Text, editedFiles(history, p.MessageID, s.cwd)})
	}
	return rewindPointsResult{points}, err
}

// exportParams are the params of _droid/export.
type exportParams struct {
	Path      string `json:"path"`      // "" for a name of its own in the session's directory
	Directory bool   `json:"directory"` // the page names the session's directory
}

// exportedFile is the file that was written.
type exportedFile struct {
	Path string `json:"path"`
}

func (s *Session) exportPage(ctx context.Context, p exportParams) (exportedFile, *jsonrpc.Error) {
	info, err := s.whole(ctx, "export it when that has ended")
	if err != nil {
		return exportedFile{}, err
	}
	path, failed := s.Export(ctx, info, p.Path, p.Directory)
	if failed != nil {
		return exportedFile{}, acperr.Internal("export_failed", "The conversation was not exported: "+failed.Error())
	}
	return exportedFile{path}, nil
}
