package adapter

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/export"
	"droid-acp/internal/paths"
	"droid-acp/internal/quirks"
)

// exportTo writes a session to file, droid-SESSION.html in cwd when it is "", and
// returns its path. A file that exists is not overwritten.
func exportTo(info *stream.SessionInfo, session, cwd, file string) (string, error) {
	if file == "" {
		file = "droid-" + session + ".html"
	}
	path := paths.Absolute(cwd, file)
	return path, exported(info, cwd).WriteFile(path)
}

// exported is a loaded session as a page shows it.
func exported(info *stream.SessionInfo, cwd string) *export.Conversation {
	c := &export.Conversation{Title: info.Title, Session: info.SessionID, Dir: cwd}
	for _, ev := range quirks.History(info.Messages) {
		switch ev := ev.(type) {
		case quirks.UserText:
			c.User(ev.MessageID, userWords(ev, cwd))
		case quirks.Text:
			if ev.Thought {
				c.Thought(ev.MessageID, ev.Text)
			} else {
				c.Agent(ev.MessageID, ev.Text)
			}
		case quirks.UserImage:
			c.Image(ev.MediaType, ev.Data)
		case quirks.ToolStarted:
			c.Tool(ev.ID, toolTitle(ev.Name, parseToolInput(ev.Input), cwd), exportedChange(ev.Input))
		case quirks.ToolEnded:
			exportResult(c, ev)
		case quirks.Notice:
			c.Note(plain(ev.Text))
		default:
			c.Break()
		}
	}
	return c
}

func exportResult(c *export.Conversation, ev quirks.ToolEnded) {
	c.Break()
	for _, r := range resultContent(ev.Content) {
		switch {
		case r.Content != nil && r.Content.Text != nil:
			c.ToolText(ev.ID, *r.Content.Text)
		case r.Content != nil:
			c.ToolImage(ev.ID, r.Content.MimeType, r.Content.Data)
		}
	}
	if ev.IsError {
		c.ToolFailed(ev.ID)
	}
}

// exportedChange is what an edit replaces, the content of a new file, or a patch.
func exportedChange(input json.RawMessage) []export.Line {
	var in struct {
		OldStr  string `json:"old_str"`
		OldText string `json:"old_string"`
		NewStr  string `json:"new_str"`
		NewText string `json:"new_string"`
		Content string `json:"content"`
		Patch   string `json:"patch"`
		Input   string `json:"input"`
	}
	_ = json.Unmarshal(input, &in) // an input of another shape changes no file
	return slices.Concat(export.Removed(in.OldStr+in.OldText), export.Added(in.NewStr+in.NewText),
		export.Added(in.Content), export.Unmarked(in.Patch+in.Input))
}
