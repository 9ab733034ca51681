package export

import (
	"fmt"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// html returns the page. g.Text and attributes escape their values; g.Raw is used only for the style and for HTML generated from Markdown.
func (v *pageView) html() g.Node {
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(g.Attr("http-equiv", "Content-Security-Policy"), h.Content(v.Policy)),
			h.Meta(h.Name("referrer"), h.Content("no-referrer")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Link(h.Rel("icon"), h.Href("data:,")),
			h.TitleEl(v.line(v.Title)),
			h.StyleEl(g.Raw(pageCSS)),
		),
		h.Body(
			h.Header(h.H1(auto, v.line(v.Title)), v.facts(), v.prompts()),
			h.Main(g.Map(v.Blocks, v.block)),
		),
	))
}

// auto lets the browser determine the text direction.
var auto = h.Dir("auto")

// line and text return plain text, made safe, on one line and on several.
func (v *pageView) line(text string) g.Node { return g.Text(v.Line(text)) }
func (v *pageView) text(text string) g.Node { return g.Text(v.Text(text)) }

// markup returns HTML generated from a message.
func markup(html string, class string) g.Node {
	return h.Div(h.Class("words"+class), auto, g.Raw(html))
}

// code returns preformatted text in a box that can be scrolled with the keyboard.
func code(class string, content g.Node) g.Node {
	return h.Pre(h.TabIndex("0"), h.Class(class), content)
}

func (v *pageView) facts() g.Node {
	return g.If(len(v.Facts) > 0, h.Dl(h.Class("facts"), g.Map(v.Facts, func(f property) g.Node {
		return h.Div(h.Dt(g.Text(f.Name)), h.Dd(v.line(f.Value)))
	})))
}

func (v *pageView) prompts() g.Node {
	return g.If(len(v.Prompts) > 1, h.Nav(h.Aria("label", "Prompts"), h.Details(
		h.Summary(g.Textf("%d prompts", len(v.Prompts))),
		h.Ol(g.Map(v.Prompts, func(l promptLink) g.Node { return h.Li(h.A(h.Href("#"+l.ID), auto, v.line(l.Text))) })),
	)))
}

// block returns consecutive parts of one side.
func (v *pageView) block(b turnBlock) g.Node {
	side, name := "agent", "droid"
	if b.User {
		side, name = "user", "You"
	}
	return h.Section(h.Class(side), g.If(b.ID != "", h.ID(b.ID)),
		h.H2(g.Text(name),
			g.If(b.Model != "", g.Group{g.Text(" "), h.Span(h.Class("meta"), v.line(b.Model))}),
			g.If(!b.At.IsZero(), g.Group{g.Text(" "), h.Time(h.Class("meta"), h.DateTime(b.Stamp()), g.Text(b.Time()))}),
		),
		g.Map(b.Parts, v.part),
		g.If(b.Tokens != "", h.P(h.Class("tokens"), g.Text("Tokens: "+b.Tokens))),
	)
}

func (v *pageView) part(p part) g.Node {
	switch p.Kind {
	case kindUser:
		return markup(v.Typed(p.Text), "")
	case kindImage:
		return h.Img(h.Alt("image of the user"), h.Src(p.Image))
	case kindAgent:
		return markup(v.Markdown(p.Text), "")
	case kindThought:
		return h.Details(h.Class("thought"), h.Summary(g.Text("Thought")), markup(v.Markdown(p.Text), ""))
	case kindNote:
		return h.P(h.Class("note typed"), auto, v.text(p.Text))
	case kindFailure:
		return h.Div(h.Class("failure"), h.B(g.Text("The turn failed")), h.P(h.Class("typed"), auto, v.text(p.Text)))
	}
	return v.call(p.Call)
}

// call returns a tool call, with Call's fields in order.
func (v *pageView) call(c *toolCall) g.Node {
	class := "call"
	if c.failed() {
		class = "call bad"
	}
	some := func(text string, show func(text string) g.Node) g.Node {
		if text == "" {
			return nil
		}
		return show(text)
	}
	plain := func(class string) func(string) g.Node {
		return func(text string) g.Node { return code(class, h.Code(v.text(text))) }
	}
	markdown := func(class string) func(string) g.Node {
		return func(text string) g.Node { return markup(v.Markdown(text), class) }
	}
	return h.Details(h.Class(class), g.If(!c.Folded, g.Attr("open")),
		h.Summary(h.B(v.line(c.Tool)),
			some(c.Title, func(text string) g.Node { return g.Group{g.Text(" "), h.Span(h.Class("title"), v.line(text))} }),
			some(c.Status(), func(text string) g.Node { return g.Group{g.Text(" "), h.Span(h.Class("status"), g.Text(text))} }),
		),
		some(c.Command, plain("command")),
		some(c.Input, plain("long")),
		some(c.Prompt, markdown(" prompt")),
		some(c.Plan, markdown(" plan")),
		g.Map(c.Changes, func(change fileDiff) g.Node { return v.change(change, c.Title) }),
		g.If(len(c.Tasks) > 0, h.Ul(h.Class("tasks"), g.Map(c.Tasks, v.task))),
		g.Map(c.Questions, v.question),
		g.Iff(c.Output != "", func() g.Node { return v.output(c) }),
		some(c.Note, func(text string) g.Node { return h.P(h.Class("note typed"), v.text(text)) }),
		some(c.Result, plain("long")),
		some(c.Answer, markdown("")),
		g.Map(c.images, func(src string) g.Node { return h.Img(h.Alt("image in the result"), h.Src(src)) }),
	)
}

// A box shows about 25 lines. Of longer output, the last shownLines are visible and the others collapsed.
const (
	boxLines   = 25
	shownLines = 20
)

// output returns the output of a command: its end, which shows the result, and how long it is.
func (v *pageView) output(c *toolCall) g.Node {
	lines := slices.Collect(strings.Lines(v.Screen(c.Output)))
	hidden := 0
	var before g.Node
	if len(lines) > boxLines {
		hidden = len(lines) - shownLines
		words := fmt.Sprintf("The first %s of %s lines", thousands(int64(hidden)), thousands(int64(len(lines))))
		if c.Cut {
			words += "; the output had more, which droid left out"
		}
		before = h.Details(h.Class("more"), h.Summary(g.Text(words)), code("long", g.Text(strings.Join(lines[:hidden], ""))))
	}
	return g.Group{before, code("long end", h.Span(g.Text(strings.Join(lines[hidden:], ""))))}
}

func (v *pageView) change(c fileDiff, title string) g.Node {
	added, removed := c.Count()
	return h.Figure(
		h.FigCaption(
			g.If(c.File != title, g.Group{v.line(c.File), g.Text(" ")}),
			h.Span(h.Class("meta"), g.Textf("+%s −%s", thousands(int64(added)), thousands(int64(removed)))),
		),
		g.If(len(c.Lines) > 0, code("diff long", g.Map(c.Lines, func(l diffLine) g.Node {
			return h.Span(g.If(l.Class() != "", h.Class(l.Class())), v.text(l.Text+"\n"))
		}))),
	)
}

func (v *pageView) task(t taskEntry) g.Node {
	text := v.text(t.Text)
	if t.Class() == "done" {
		text = h.S(text)
	}
	return h.Li(h.Class(t.Class()), h.Span(h.Role("img"), h.Aria("label", t.Words()), g.Text(t.Mark())), g.Text(" "), text)
}

func (v *pageView) question(q questionEntry) g.Node {
	answered := g.Group{g.Text(" "), h.Span(h.Class("meta"), g.Text("answered"))}
	return h.Div(h.Class("question"), h.P(auto, v.text(q.Text)),
		g.If(len(q.Options) > 0, h.Ul(g.Map(q.Options, func(option string) g.Node {
			if !q.Chosen(option) {
				return h.Li(v.text(option))
			}
			return h.Li(h.Class("chosen"), v.text(option), answered)
		}))),
		g.If(q.Own() != "", h.P(h.Class("chosen typed"), auto, v.text(q.Own()), answered)),
	)
}
