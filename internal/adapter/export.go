package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
)

// exported is one part of an exported conversation.
type exported struct {
	Kind  string // "user", "agent", "thought", "tool", "image"
	Title string
	Text  string
	Lines []diffLine
	Image template.URL
	Error bool
}

type diffLine struct{ Class, Text string }

// exportPage is self-contained: no script, no link that loads anything. The
// policy makes a browser refuse all requests, should a conversation smuggle one in.
var exportPage = template.Must(template.New("export").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width"><title>{{.Title}}</title>
<style>
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}
h1{font-size:1.4rem}header p{color:#666}
section{margin:1rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
.user{background:#eef3fb;border-radius:.5rem;padding:.7rem 1rem}
.thought{color:#666;font-style:italic;border-left:3px solid #ddd;padding-left:1rem}
details{border:1px solid #ddd;border-radius:.5rem;padding:.5rem 1rem;margin:1rem 0}
summary{cursor:pointer;font-family:ui-monospace,monospace;font-size:.85rem}
pre{font:.82rem/1.4 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;margin:.5rem 0}
.del{background:#ffe9e9}.add{background:#e7f8e9}.failed summary{color:#a00}img{max-width:100%}
@media print{body{margin:0;max-width:none}details,.user{break-inside:avoid}}
</style></head><body><header><h1>{{.Title}}</h1><p>{{.Session}} · {{.CWD}}</p></header>
{{range .Parts}}{{if eq .Kind "tool"}}<details open{{if .Error}} class="failed"{{end}}><summary>{{.Title}}</summary>{{if .Lines}}<pre>{{range .Lines}}<span class="{{.Class}}">{{.Text}}
</span>{{end}}</pre>{{end}}{{if .Text}}<pre>{{.Text}}</pre>{{end}}{{if .Image}}<img alt="" src="{{.Image}}">{{end}}</details>
{{else if eq .Kind "image"}}<section class="user"><img alt="image" src="{{.Image}}"></section>
{{else}}<section class="{{.Kind}}">{{.Text}}</section>
{{end}}{{end}}</body></html>
`))

// exportHTML renders a loaded session as one HTML page.
func exportHTML(info *stream.SessionInfo, cwd string) (string, error) {
	title := info.Title
	if title == "" {
		title = "droid session"
	}
	var b strings.Builder
	err := exportPage.Execute(&b, struct {
		Title, Session, CWD string
		Parts               []exported
	}{title, info.SessionID, cwd, exportParts(info.Messages, cwd)})
	return b.String(), err
}

func exportParts(messages []stream.Message, cwd string) []exported {
	var parts []exported
	last := ""
	tools := map[string]int{}
	text := func(kind, id, text string) {
		if key := kind + id; key == last && len(parts) > 0 {
			parts[len(parts)-1].Text += text
			return
		}
		last = kind + id
		parts = append(parts, exported{Kind: kind, Text: text})
	}
	for _, ev := range quirks.History(messages) {
		switch ev := ev.(type) {
		case quirks.UserText:
			text("user", ev.MessageID, show.UserWords(ev, cwd))
			continue
		case quirks.Text:
			kind := "agent"
			if ev.Thought {
				kind = "thought"
			}
			text(kind, ev.MessageID, ev.Text)
			continue
		case quirks.UserImage:
			if url := imageURL(ev.MediaType, ev.Data); url != "" {
				parts = append(parts, exported{Kind: "image", Image: url})
			}
		case quirks.ToolStarted:
			tools[ev.ID] = len(parts)
			parts = append(parts, exported{Kind: "tool", Title: show.Title(ev.Name, ev.Input, cwd), Lines: inputLines(ev.Input)})
		case quirks.ToolEnded:
			if i, ok := tools[ev.ID]; ok {
				for _, c := range show.ResultContent(ev.Content) {
					switch {
					case c.Content != nil && c.Content.Text != nil:
						parts[i].Text += *c.Content.Text
					case c.Content != nil:
						parts[i].Image = imageURL(c.Content.MimeType, c.Content.Data)
					}
				}
				parts[i].Error = ev.IsError
			}
		case quirks.Notice:
			parts = append(parts, exported{Kind: "thought", Text: show.ProviderWords(ev.Text)})
		}
		last = ""
	}
	return parts
}

// imageURL embeds an image; what is no image that droid takes is left out.
func imageURL(mediaType, data string) template.URL {
	if !imageTypes[mediaType] || strings.Trim(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") != "" {
		return ""
	}
	return template.URL("data:" + mediaType + ";base64," + data)
}

// inputLines shows what an edit replaces, and the content of a new file.
func inputLines(raw json.RawMessage) (lines []diffLine) {
	var in struct {
		OldStr  string `json:"old_str"`
		OldText string `json:"old_string"`
		NewStr  string `json:"new_str"`
		NewText string `json:"new_string"`
		Content string `json:"content"`
		Patch   string `json:"patch"`
		Input   string `json:"input"`
	}
	_ = json.Unmarshal(raw, &in) // an input of another shape has no diff
	add := func(class, sign, text string) {
		if text == "" {
			return
		}
		for line := range strings.Lines(text) {
			lines = append(lines, diffLine{class, sign + strings.TrimRight(line, "\r\n")})
		}
	}
	add("del", "- ", in.OldStr+in.OldText)
	add("add", "+ ", in.NewStr+in.NewText)
	add("add", "+ ", in.Content)
	add("", "", in.Patch+in.Input)
	return lines
}

// exportCommand writes the conversation to one HTML file.
func (s *Session) exportCommand(t *turn, file string) {
	s.withHistory(t, "The conversation was not exported", func(info *stream.SessionInfo) {
		session, cwd := s.droidID, s.cwd
		s.do(func(context.Context) {
			path, err := export(info, session, cwd, file)
			s.post(func() {
				if err != nil {
					s.replyError(t, "The conversation was not exported", err)
					return
				}
				s.reply(t, "The conversation is in `"+path+"`.")
			})
		})
	})
}

// export writes a session to file, droid-SESSION.html in cwd when it is "". A
// file that exists is not overwritten.
func export(info *stream.SessionInfo, session, cwd, file string) (string, error) {
	if file == "" {
		file = "droid-" + session + ".html"
	}
	path := show.Absolute(cwd, file)
	page, err := exportHTML(info, cwd)
	if err != nil {
		return "", err
	}
	return path, writeNew(filepath.Clean(path), func(w io.Writer) error {
		_, err := io.WriteString(w, page)
		return err
	})
}

// writeNew makes a file that is not there yet, whole or not at all: it gets its name
// when it is written.
func writeNew(path string, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil {
		return &existsError{path}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".droid-acp-export-*")
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			at.Path = path // the name that the user knows
		}
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails when the file has its name
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	err = os.Link(f.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = renameNew(f.Name(), path) // this filesystem has no links
	}
	if errors.Is(err, fs.ErrExist) {
		return &existsError{path}
	}
	return err
}

// renameNew renames a file to a name that nobody has: an empty file takes the name
// before, which no two writers can make.
func renameNew(from, to string) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Rename(from, to)); err != nil {
		_ = os.Remove(to)
		return err
	}
	return nil
}

// existsError says that a file is not overwritten.
type existsError struct{ path string }

func (e *existsError) Error() string {
	return e.path + " exists and is not overwritten; give another name"
}

func (e *existsError) Unwrap() error { return fs.ErrExist }
