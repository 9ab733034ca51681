package main

import (
	"fmt"
	"html"
	"strings"
)

// Sizes in the picture's own units, which a browser shows as pixels. A letter of the fonts
// named is 0.6 of its size wide.
const (
	fontSize   = 14.0
	lineHeight = 20.0
	padding    = 20.0
	top        = 56.0 // where the first line stands, below the title bar
)

const styleSheet = `
svg { color-scheme: light dark }
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; white-space: pre; fill: #24292f }
.paper { fill: #ffffff; stroke: #d0d7de } .bar { fill: #f6f8fa } .dot { fill: #d0d7de } .prompt { fill: #57606a }
.bold { font-weight: bold } .faint { fill: #6e7781 } .red { fill: #b32029 } .green { fill: #1a7235 }
.yellow { fill: #8a5a00 } .blue { fill: #0969da } .magenta { fill: #8250df } .cyan { fill: #0a6c87 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.paper { fill: #0d1117; stroke: #30363d } .bar { fill: #161b22 } .dot { fill: #30363d } .prompt { fill: #8d96a0 }
.faint { fill: #8d96a0 } .red { fill: #ff7b72 } .green { fill: #56d364 }
.yellow { fill: #e3b341 } .blue { fill: #79c0ff } .magenta { fill: #d2a8ff } .cyan { fill: #56d4dd }
}
`

// svg draws lines below the command that printed them. The command also stands in the
// description, word for word.
func svg(command string, lines [][]span) string {
	width := 2*padding + columns*fontSize*0.6
	height := top + lineHeight*float64(len(lines)+1) + padding/2
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>A conversation with droid-acp in a terminal</title>\n<desc>%s</desc>\n<style>%s</style>\n", html.EscapeString(command), styleSheet)
	fmt.Fprintf(&b, `<rect class="paper" x=".5" y=".5" width="%.0f" height="%.0f" rx="8"/>`+"\n", width-1, height-1)
	fmt.Fprintf(&b, `<path class="bar" d="M1 30V9a8 8 0 0 1 8-8h%.0fa8 8 0 0 1 8 8v21z"/>`+"\n", width-18)
	for i := range 3 {
		fmt.Fprintf(&b, `<circle class="dot" cx="%d" cy="15.5" r="5"/>`+"\n", 20+18*i)
	}
	y := top
	text := func(spans []span) {
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f">`, padding, y)
		for _, s := range spans {
			if s.class == "" {
				b.WriteString(html.EscapeString(s.text))
			} else {
				fmt.Fprintf(&b, `<tspan class="%s">%s</tspan>`, s.class, html.EscapeString(s.text))
			}
		}
		b.WriteString("</text>\n")
		y += lineHeight
	}
	text([]span{{"$ ", "prompt"}, {command, "bold"}})
	for _, line := range lines {
		text(line)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
