package export

import (
	"html/template"
	"io"
)

// page is self-contained: it has no script and no link that loads anything. Its
// policy makes a browser refuse all requests, should a conversation smuggle one in.
var page = template.Must(template.New("export").Parse(`<!doctype html>
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
</style></head><body><header><h1>{{.Title}}</h1><p>{{.Session}} · {{.Dir}}</p></header>
{{range .Parts}}{{if eq .Kind "tool"}}<details open{{if .Failed}} class="failed"{{end}}><summary>{{.Title}}</summary>{{if .Lines}}<pre>{{range .Lines}}<span class="{{.Class}}">{{.Text}}
</span>{{end}}</pre>{{end}}{{if .Text}}<pre>{{.Text}}</pre>{{end}}{{range .Images}}<img alt="" src="{{.}}">{{end}}</details>
{{else if eq .Kind "image"}}<section class="user">{{range .Images}}<img alt="image" src="{{.}}">{{end}}</section>
{{else}}<section class="{{.Kind}}">{{.Text}}</section>
{{end}}{{end}}</body></html>
`))

// Render writes the conversation as one HTML page.
func (c *Conversation) Render(w io.Writer) error {
	title := c.Title
	if title == "" {
		title = "droid session"
	}
	return page.Execute(w, struct {
		Title, Session, Dir string
		Parts               []part
	}{title, c.Session, c.Dir, c.parts})
}
