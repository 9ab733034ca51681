package adapter

import (
	"context"
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/adapter/problem"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// The extension methods that need the whole conversation, which droid tells while
// no prompt runs.

// withWhole calls use with the whole conversation, or fail with why there is none.
// remedy tells the caller what to do if a prompt runs.
func withWhole(s *Session, remedy string, fail func(*acp.RequestError), use func(*stream.SessionInfo)) {
	if s.prompts.Busy() {
		fail(problem.InvalidRequest("the session works on a prompt; " + remedy))
		return
	}
	s.inTurn(turns.Session, func(over func(error)) {
		s.loadWhole(func(info *stream.SessionInfo, err *acp.RequestError) {
			defer over(nil)
			if err != nil {
				fail(err)
				return
			}
			use(info)
		})
	})
}

// fromHistory answers with what use makes of the whole conversation.
func fromHistory[R any](s *Session, done answer[R], use func([]stream.Message) R) {
	withWhole(s, "ask again when it has ended",
		func(err *acp.RequestError) { var none R; done(none, err) },
		func(info *stream.SessionInfo) { done(use(info.Messages), nil) })
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

func messagesExtension(s *Session, _ noParams, done answer[messagesResult]) {
	fromHistory(s, done, func(history []stream.Message) messagesResult {
		messages := []historyMessage{}
		for _, m := range history {
			out := historyMessage{m.ID, m.Role, []json.RawMessage{}}
			for _, block := range m.Content {
				out.Content = append(out.Content, block.JSON())
			}
			messages = append(messages, out)
		}
		return messagesResult{messages}
	})
}

// lastTextResult is the result of _droid/last_assistant_text.
type lastTextResult struct {
	Text string `json:"text"`
}

func lastTextExtension(s *Session, _ noParams, done answer[lastTextResult]) {
	fromHistory(s, done, func(history []stream.Message) lastTextResult {
		id, last := "", ""
		for _, ev := range quirks.History(history) {
			if said, ok := ev.(quirks.Text); ok && !said.Thought {
				if said.MessageID != id {
					id, last = said.MessageID, ""
				}
				last += said.Text
			}
		}
		return lastTextResult{last}
	})
}

// rewindPointsResult is the result of _droid/rewind_points.
type rewindPointsResult struct {
	Points []numberedPoint `json:"points"`
}

// numberedPoint is a prompt, with the NUMBER by which "/rewind NUMBER" goes back to
// before it.
type numberedPoint struct {
	Number    int    `json:"number"`
	MessageID string `json:"messageId"`
	Text      string `json:"text"`
}

func rewindPointsExtension(s *Session, _ noParams, done answer[rewindPointsResult]) {
	fromHistory(s, done, func(history []stream.Message) rewindPointsResult {
		points := []numberedPoint{}
		for i, p := range rewindPoints(history) {
			points = append(points, numberedPoint{i + 1, p.MessageID, p.Text})
		}
		return rewindPointsResult{points}
	})
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

func exportExtension(s *Session, p exportParams, done answer[exportedFile]) {
	fail := func(err *acp.RequestError) { done(exportedFile{}, err) }
	withWhole(s, "export it when that has ended", fail, func(info *stream.SessionInfo) {
		session, cwd, seen := s.droidID, s.cwd, s.usage.Past()
		s.Do(func(ctx context.Context) {
			path, err := s.agent.exportTo(ctx, info, exported{session, cwd, p.Path, p.Directory, seen})
			if err != nil {
				fail(problem.Internal("export_failed", "The conversation was not exported: "+err.Error()))
				return
			}
			done(exportedFile{path}, nil)
		})
	})
}
