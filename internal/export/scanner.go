package export

import "strings"

// Classes of colours in the page's style.
const (
	classComment = "c"
	classString  = "s"
	classNumber  = "n"
	classKeyword = "k"
	classType    = "t" // and names of elements and of values
	className    = "f" // of functions and attributes
	classAdded   = "add"
	classDeleted = "del"
)

// scanner goes through code once, from its begin to its end, and writes it as HTML. It
// looks ahead only over what it takes next, so its time grows with the length of the
// code, whatever the code is.
type scanner struct {
	*grammar
	text string
	done int // what is written
	out  strings.Builder
	open string // the class of the last that is written
}

// coloured is code as HTML.
func (g *grammar) coloured(text string) string {
	s := &scanner{grammar: g, text: text}
	if g.scan != nil {
		g.scan(s)
	} else {
		s.program()
	}
	s.to(len(text), "")
	s.close()
	return s.out.String()
}

// to writes what comes before end, in the colour of the class.
func (s *scanner) to(end int, class string) {
	if end <= s.done {
		return
	}
	if class != s.open {
		s.close()
		if s.open = class; class != "" {
			s.out.WriteString(`<span class="` + class + `">`)
		}
	}
	s.out.WriteString(escaped(s.text[s.done:end]))
	s.done = end
}

func (s *scanner) close() {
	if s.open != "" {
		s.out.WriteString("</span>")
	}
	s.open = ""
}

// rest is what is not written yet.
func (s *scanner) rest() string { return s.text[s.done:] }

// through is where the text after from has end, behind it; the end of all if it has none.
func (s *scanner) through(from int, end string) int {
	if i := strings.Index(s.text[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(s.text)
}

// program colours comments, strings, numbers and words.
func (s *scanner) program() {
	for s.done < len(s.text) {
		switch c := s.text[s.done]; {
		case s.comment(), s.quoted(c):
		case s.isWord(c):
			s.word()
		default:
			s.to(s.done+1, "")
		}
	}
}

// comment writes a comment if there is one here. One that # begins stands by itself:
// in a word, the sign is something else in many languages.
func (s *scanner) comment() bool {
	rest := s.rest()
	if s.line != "" && strings.HasPrefix(rest, s.line) && (s.line != "#" || s.done == 0 || strings.IndexByte(" \t\r\n;", s.text[s.done-1]) >= 0) {
		s.to(s.lineEnd(s.done), classComment)
		return true
	}
	for i := 0; i+1 < len(s.block); i += 2 {
		if strings.HasPrefix(rest, s.block[i]) {
			s.to(s.through(s.done+len(s.block[i]), s.block[i+1]), classComment)
			return true
		}
	}
	return false
}

// lineEnd is where the line of at ends, before the sign for it.
func (s *scanner) lineEnd(at int) int {
	if i := strings.IndexByte(s.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(s.text)
}

// quoted writes a string if one begins here with the sign c.
func (s *scanner) quoted(c byte) bool {
	in := func(signs string) bool { return strings.IndexByte(signs, c) >= 0 }
	three := strings.Repeat(string(rune(c)), 3)
	end := 0
	switch {
	case s.char && c == '\'':
		if end = s.oneSign(); end == 0 {
			return false
		}
	case s.keys == ":" && c == '\'' && s.done > 0 && s.isWord(s.text[s.done-1]):
		return false // "it's"
	case s.triple && in(s.quotes) && strings.HasPrefix(s.rest(), three):
		end = s.through(s.done+3, three)
	case in(s.raw):
		end = s.through(s.done+1, string(rune(c)))
	case in(s.quotes), in(s.long):
		end = s.closing(c, in(s.long))
	default:
		return false
	}
	class := classString
	if s.keys != "" && s.beforeKeySign(end) {
		class = classType
	}
	s.to(end, class)
	return true
}

// closing is where a string ends that begins here: behind its quote or at the end of
// the line.
func (s *scanner) closing(quote byte, lines bool) int {
	for i := s.done + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == quote:
			return i + 1
		case c == '\\':
			i++
		case c == '\n' && !lines:
			return i
		}
	}
	return len(s.text)
}

// oneSign is where a quoted sign ends that begins here, 0 when there is none.
func (s *scanner) oneSign() int {
	const longest = len(`'\u{10FFFF}'`)
	rest := s.rest()
	rest = rest[:min(len(rest), longest)]
	begin := 1
	if strings.HasPrefix(rest, `'\`) {
		begin = 3
	}
	if begin >= len(rest) {
		return 0
	}
	end := strings.IndexByte(rest[begin:], '\'')
	if end < 0 || begin == 1 && (end == 0 || len([]rune(rest[1:1+end])) > 1) {
		return 0
	}
	return s.done + begin + end + 1
}

func (s *scanner) isWord(c byte) bool {
	return c == '_' || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80 || strings.IndexByte(s.inWord, c) >= 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// word writes a number, a word of the language, or a name.
func (s *scanner) word() {
	number := isDigit(s.text[s.done])
	end := s.done + 1
	for end < len(s.text) && (s.isWord(s.text[end]) || number && s.text[end] == '.' && end+1 < len(s.text) && isDigit(s.text[end+1])) {
		end++
	}
	word := s.text[s.done:end]
	if s.anyCase {
		word = strings.ToLower(word)
	}
	class := s.words[word]
	switch {
	case class != "":
	case number:
		class = classNumber
	case s.keys != "":
		if s.beforeKeySign(end) {
			class = classType
		}
	case word[0] == '@', end < len(s.text) && s.text[end] == '(':
		class = className
	}
	s.to(end, class)
}

// beforeKeySign reports that what ends here names a value: blanks and a sign for that
// follow. A colon without a blank behind it is part of something else.
func (s *scanner) beforeKeySign(end int) bool {
	for end < len(s.text) && s.text[end] == ' ' {
		end++
	}
	if end == len(s.text) || strings.IndexByte(s.keys, s.text[end]) < 0 {
		return false
	}
	return s.text[end] != ':' || end+1 == len(s.text) || strings.IndexByte(" \t\r\n\"{[=", s.text[end+1]) >= 0
}
