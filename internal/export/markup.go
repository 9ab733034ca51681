package export

import "strings"

// markup colours elements, their attributes and comments of HTML and XML.
func (s *scanner) markup() {
	for s.done < len(s.text) {
		rest := s.rest()
		switch {
		case strings.HasPrefix(rest, "<!--"):
			s.to(s.through(s.done, "-->"), classComment)
		case len(rest) > 1 && rest[0] == '<' && (rest[1] == '/' || rest[1] == '!' || rest[1] == '?' || s.isWord(rest[1])):
			s.element()
		default:
			next := strings.IndexByte(rest[1:], '<')
			if next < 0 {
				return
			}
			s.to(s.done+1+next, "")
		}
	}
}

// element colours what stands between < and >.
func (s *scanner) element() {
	end := s.done + 2
	for end < len(s.text) && s.isWord(s.text[end]) {
		end++
	}
	s.to(end, classType)
	for s.done < len(s.text) {
		switch c := s.text[s.done]; {
		case c == '>', c == '/', c == '?':
			s.to(s.done+1, classType)
			if c == '>' {
				return
			}
		case c == '<':
			return // the last one has no end
		case c == '"', c == '\'':
			s.to(s.through(s.done+1, string(rune(c))), classString)
		case s.isWord(c):
			for end = s.done + 1; end < len(s.text) && (s.isWord(s.text[end]) || s.text[end] == '-' || s.text[end] == ':'); {
				end++
			}
			s.to(end, className)
		default:
			s.to(s.done+1, "")
		}
	}
}

// diff colours lines that come and go.
func (s *scanner) diff() {
	for line := range strings.Lines(s.text) {
		class := ""
		switch {
		case line[0] == '+':
			class = classAdded
		case line[0] == '-':
			class = classDeleted
		case line[0] == '@', strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
			class = classKeyword
		}
		s.to(s.done+len(line), class)
	}
}

// headings colours the headings and the blocks of code of Markdown.
func (s *scanner) headings() {
	fence := ""
	for line := range strings.Lines(s.text) {
		word := strings.TrimSpace(line)
		class, opens := "", fenceOf(word)
		switch {
		case fence != "":
			class = classString
			if strings.HasPrefix(word, fence) && strings.Trim(word, fence[:1]) == "" {
				fence = ""
			}
		case opens != "":
			class, fence = classString, opens
		case line[0] == '#':
			class = classKeyword
		}
		s.to(s.done+len(line), class)
	}
}
