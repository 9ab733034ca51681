package trace

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"droid-acp/internal/text/visible"
)

const (
	// maxSpans bounds the rows of the time line.
	maxSpans = 1000
	// maxRaw bounds how many bytes of a message the page has.
	maxRaw = 20 << 10
	// shortestPause is the shortest time without messages that the time line leaves out if nothing waits, works or runs.
	shortestPause = 2 * time.Second
)

// Page writes the conversation as one HTML page without scripts.
func (c *Conversation) Page(w io.Writer) error {
	out := bufio.NewWriter(w)
	sum := sha256.Sum256([]byte(pageStyle))
	policy := "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	page := h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(g.Attr("http-equiv", "Content-Security-Policy"), h.Content(policy)),
			h.Meta(h.Name("referrer"), h.Content("no-referrer")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Link(h.Rel("icon"), h.Href("data:,")),
			h.TitleEl(g.Text("Trace of droid-acp")),
			h.StyleEl(g.Raw(pageStyle)),
		),
		h.Body(
			h.H1(g.Text("Trace of droid-acp")),
			g.Map(c.Summary(), func(line string) g.Node { return h.P(g.Text(visible.Line(line))) }),
			h.H2(g.Text("Who waited for whom")),
			c.legend(), c.timeLine(),
			h.H2(g.Text("Messages")),
			h.Ol(c.items()),
		),
	))
	if err := page.Render(out); err != nil {
		return err
	}
	return out.Flush()
}

// items returns the messages. The pieces of one streamed message are one item.
func (c *Conversation) items() (items g.Group) {
	for at := 0; at < len(c.Rows); {
		pieces := c.pieces(at)
		rows := g.Group(g.Map(pieces, (*Row).node))
		at += len(pieces)
		if first := pieces[0]; len(pieces) > fewPieces {
			rows = g.Group{h.Li(h.Value(fmt.Sprint(first.N)), h.Details(h.Summary(first.clock(), g.Text(" "+folded(pieces))), h.Ol(rows)))}
		}
		items = append(items, rows)
	}
	return items
}

func (r *Row) clock() g.Node { return h.Span(h.Class("time"), g.Text(clock(r.Time))) }

func (r *Row) node() g.Node {
	raw := visible.Text(r.raw[:min(len(r.raw), maxRaw)])
	if len(r.raw) > maxRaw {
		raw += fmt.Sprintf("… (%d bytes)", len(r.raw))
	}
	class := "other"
	switch {
	case r.From == "editor" || r.To == "editor":
		class = "editor"
	case strings.HasPrefix(r.From, "droid "):
		class = "droid"
	}
	return h.Li(h.ID(fmt.Sprint("m", r.N)), h.Value(fmt.Sprint(r.N)), h.Class(class),
		h.Details(
			h.Summary(
				r.clock(), g.Text(" "),
				g.If(r.From != "", h.B(g.Text(r.From+" → "+r.To))), g.Text(" "+visible.Line(r.What)),
			),
			h.Pre(g.Text(raw)),
		),
		g.Map(r.Events, func(ev string) g.Node { return h.Div(h.Class("event"), g.Text("= "+short(ev))) }),
		g.Map(r.Rows, func(other *Row) g.Node {
			sign := "→ "
			if other.N < r.N {
				sign = "← "
			}
			return h.A(h.Class("link"), h.Href(fmt.Sprint("#m", other.N)), g.Text(fmt.Sprint(sign, other.N)))
		}),
	)
}

// kindNames describe the kinds of Span.
var kindNames = []string{"the editor waits for droid-acp", "droid-acp waits for the editor", "droid-acp waits for droid", "droid waits for droid-acp", "a tool works", "a turn runs"}

func (c *Conversation) legend() g.Node {
	return h.P(h.Class("legend"), g.Group(g.Map(slices.Collect(func(yield func(int) bool) {
		for kind := range kindNames {
			if !yield(kind) {
				return
			}
		}
	}), func(kind int) g.Node {
		return h.Span(h.Class(fmt.Sprint("k", kind)), g.Text("■ "+kindNames[kind]+" "))
	})))
}

// Sizes of the time line, in pixels.
const (
	labelWidth = 330
	chartWidth = 900
	rowHeight  = 16
)

func (c *Conversation) timeLine() g.Node {
	spans := slices.Clone(c.Spans)
	slices.SortStableFunc(spans, func(a, b *Span) int { return a.Begin.Compare(b.Begin) })
	note := ""
	if len(spans) > maxSpans {
		note = fmt.Sprintf("Only the first %d of %d are shown.", maxSpans, len(spans))
		spans = spans[:maxSpans]
	}
	at, total, paused := c.scale(spans)
	if paused > 0 {
		note += fmt.Sprintf(" Pauses are left out (%s in all).", paused.Round(time.Second))
	}
	x := func(t time.Time) float64 { return labelWidth + chartWidth*float64(at(t))/float64(max(total, 1)) }
	var nodes []g.Node
	for i, s := range spans {
		y := i * rowHeight
		from, to := x(s.Begin), x(s.End)
		label := s.Label + ", " + elapsed(s.Begin, s.End)
		switch {
		case s.Open:
			label = s.Label + ", never ended"
		case s.Failed:
			label += ", failed"
		}
		shown := []rune(visible.Line(label))
		if len(shown) > 48 {
			shown = append(shown[:47], '…')
		}
		nodes = append(nodes, g.El("a", h.Href(fmt.Sprint("#m", s.Row.N)), h.Class(fmt.Sprint("k", int(s.Kind))),
			g.El("title", g.Text(visible.Line(kindNames[s.Kind]+": "+label))),
			g.El("text", g.Attr("x", "0"), g.Attr("y", fmt.Sprint(y+12)), g.Text(string(shown))),
			g.El("rect", g.Attr("x", fmt.Sprintf("%.1f", from)), g.Attr("y", fmt.Sprint(y+3)), g.Attr("width", fmt.Sprintf("%.1f", max(to-from, 1.5))), g.Attr("height", fmt.Sprint(rowHeight-5))),
		))
	}
	return g.Group{
		g.If(note != "", h.P(g.Text(strings.TrimSpace(note)))),
		h.P(g.Textf("%s in all", total.Round(time.Millisecond))),
		h.Div(h.Class("chart"), g.El("svg", g.Attr("width", fmt.Sprint(labelWidth+chartWidth+4)), g.Attr("height", fmt.Sprint(len(spans)*rowHeight+4)),
			g.Attr("role", "img"), h.Aria("label", "time line"), g.Group(nodes))),
	}
}

// scale returns the position of a time on the time line, its length, and how much of the time it leaves out.
func (c *Conversation) scale(spans []*Span) (at func(time.Time) time.Duration, total, paused time.Duration) {
	type stop struct {
		at       time.Time
		position time.Duration
	}
	var times []time.Time
	for _, r := range c.Rows {
		times = append(times, r.Time)
	}
	slices.SortFunc(times, time.Time.Compare)
	var stops []stop
	var position time.Duration
	for i, t := range times {
		if i > 0 {
			before := times[i-1]
			step := t.Sub(before)
			idle := !slices.ContainsFunc(spans, func(s *Span) bool { return !s.Open && !s.Begin.After(before) && !s.End.Before(t) })
			if idle && step > shortestPause {
				paused += step - shortestPause
				step = shortestPause
			}
			position += step
		}
		stops = append(stops, stop{t, position})
	}
	return func(t time.Time) time.Duration {
		i, found := slices.BinarySearchFunc(stops, t, func(s stop, t time.Time) int { return s.at.Compare(t) })
		switch {
		case found:
			return stops[i].position
		case i == 0:
			return 0
		}
		return stops[i-1].position
	}, position, paused
}

const pageStyle = `
body { font: 14px/1.4 system-ui, sans-serif; margin: 1rem; color: #1b1f24; background: #fff }
h1 { font-size: 1.3rem } h2 { font-size: 1.1rem }
.chart { overflow-x: auto } svg text { font-size: 11px; fill: currentColor }
.k0 { color: #0550ae } .k1 { color: #9a3412 } .k2 { color: #57606a } .k3 { color: #a40e26 } .k4 { color: #116329 } .k5 { color: #6639ba }
rect { fill: currentColor } .legend span { margin-right: 1em }
ol { padding-left: 3.5rem; font: 12px/1.5 ui-monospace, monospace } li { overflow-wrap: anywhere }
li:target { outline: 2px solid #bf8700 }
summary { cursor: pointer } pre { white-space: pre-wrap; border-left: 3px solid #afb8c1; padding-left: .6em }
.time, .link { color: #57606a } .link { margin-left: 2em } .event { padding-left: 2em; color: #116329 }
.editor summary { background: #ddf4ff }
@media (prefers-color-scheme: dark) {
body { color: #d1d7e0; background: #16191d }
.k0 { color: #79b8ff } .k1 { color: #ffab70 } .k2 { color: #9ea7b3 } .k3 { color: #ff8a96 } .k4 { color: #7ee2a0 } .k5 { color: #c8a6ff }
.time, .link { color: #9ea7b3 } .event { color: #7ee2a0 } .editor summary { background: #12304a }
}
`
