package quirks

import "strings"

const (
	// saidPiece is how much text is collected before it becomes a piece, in bytes.
	saidPiece = 64 << 10
	// saidWhole is the length from which a text becomes a piece as it is, uncopied.
	saidWhole = 4 << 10
)

// said is a text that grows and is compared with others. It is kept in pieces: one
// string would be copied again and again, and may be hundreds of megabytes long.
type said struct {
	pieces []string
	tail   strings.Builder
	size   int
}

// add lengthens the text.
func (s *said) add(text string) {
	s.size += len(text)
	if s.tail.Len()+len(text) > saidPiece || len(text) >= saidWhole {
		s.seal()
	}
	switch {
	case len(text) >= saidWhole:
		s.pieces = append(s.pieces, text)
	default:
		s.tail.WriteString(text)
	}
}

// seal makes a piece of the tail.
func (s *said) seal() {
	if s.tail.Len() > 0 {
		s.pieces = append(s.pieces, s.tail.String())
		s.tail.Reset()
	}
}

// has reports whether text stands at a place in the text.
func (s *said) has(at int, text string) bool {
	if at < 0 || at+len(text) > s.size {
		return false
	}
	s.seal()
	for _, piece := range s.pieces {
		if at >= len(piece) {
			at -= len(piece)
			continue
		}
		n := min(len(piece)-at, len(text))
		if piece[at:at+n] != text[:n] {
			return false
		}
		if text, at = text[n:], 0; text == "" {
			return true
		}
	}
	return text == ""
}
