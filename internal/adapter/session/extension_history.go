package session

import (
	"context"
	"encoding/json"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
)

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
