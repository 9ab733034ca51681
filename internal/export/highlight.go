package export

import (
	"html"
	"html/template"
	"path"
	"regexp"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"droid-acp/internal/visible"
)

// maxColoured bounds the code that gets colours, in bytes. Longer code is shown without.
const maxColoured = 64 << 10

// code writes code as HTML, with colours if there is a lexer for what it is: the name
// of a language or of a file. It takes colours from the time that the page has left.
func (p *painter) code(what, text string) string {
	lexer := p.lexerFor(what)
	if lexer == nil || len(text) > maxColoured || p.late() {
		return escaped(text)
	}
	tokens, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root"}, text)
	if err != nil {
		return escaped(text)
	}
	var b strings.Builder
	rest, open := text, ""
	for t := tokens(); t != chroma.EOF && rest != "" && !p.late(); t = tokens() {
		value := t.Value[:min(len(t.Value), len(rest))] // lexers may add an end of line
		if !strings.HasPrefix(rest, value) {
			return escaped(text) // the lexer changes the text
		}
		if class := colour(t.Type); class != open {
			closeSpan(&b, open)
			if open = class; class != "" {
				b.WriteString(`<span class="` + class + `">`)
			}
		}
		b.WriteString(escaped(value))
		rest = rest[len(value):]
	}
	closeSpan(&b, open)
	return b.String() + escaped(rest)
}

func closeSpan(b *strings.Builder, open string) {
	if open != "" {
		b.WriteString("</span>")
	}
}

// lexerFor finds the lexer of a language or file name, nil where there is none. Files
// are told by their extension, and each is looked for once: comparing a name with what
// all lexers say of files takes milliseconds.
func (p *painter) lexerFor(what string) chroma.Lexer {
	what = strings.ToLower(strings.TrimSpace(what))
	if p.lexers == nil {
		p.lexers = make(map[string]chroma.Lexer)
		for _, alias := range lexers.Aliases(true) {
			p.lexers[strings.ToLower(alias)] = nil
		}
	}
	ext := path.Ext(what)
	lexer, known := p.lexers[what]
	switch {
	case known && lexer == nil:
		lexer = lexers.Get(what)
	case known || ext == "" || len(ext) > maxExtension:
		return lexer
	default:
		what = "file" + ext
		if lexer, known = p.lexers[what]; !known {
			lexer = lexers.Match(what)
		}
	}
	p.lexers[what] = lexer
	return lexer
}

// maxExtension bounds the extensions of files that are looked for, in bytes.
const maxExtension = 16

// colour is the CSS class of a kind of token, "" for text as any other.
func colour(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InCategory(chroma.Literal):
		return "n"
	case t == chroma.KeywordType, t == chroma.NameClass, t == chroma.NameTag, t == chroma.NameBuiltin:
		return "t"
	case t.InCategory(chroma.Keyword), t == chroma.OperatorWord:
		return "k"
	case t == chroma.NameFunction, t == chroma.NameAttribute, t == chroma.NameDecorator:
		return "f"
	case t == chroma.GenericInserted:
		return "add"
	case t == chroma.GenericDeleted:
		return "del"
	case t == chroma.GenericHeading, t == chroma.GenericSubheading:
		return "k"
	}
	return ""
}

// escaped makes text part of HTML. A NUL, which HTML cannot have, becomes the sign for
// what cannot be shown.
func escaped(text string) string {
	return html.EscapeString(strings.ReplaceAll(text, "\x00", "\uFFFD"))
}

// terminal finds the sequences by which programs colour and move in a terminal.
var terminal = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\))")

// Text makes plain text fit to be read: without the sequences of terminals, and with
// the signs that hide something shown as escapes.
func (p *painter) Text(text string) string {
	if strings.Contains(text, "\x1b") {
		text = terminal.ReplaceAllString(text, "")
	}
	return visible.Text(text)
}

// Line is Text in one line.
func (p *painter) Line(text string) string { return visible.Line(text) }

// Code makes HTML of code in a language or of a file.
func (p *painter) Code(what, code string) template.HTML {
	return template.HTML(p.code(what, p.Text(code)))
}
