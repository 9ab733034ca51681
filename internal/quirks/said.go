package quirks

import "strings"

const (
	// saidPiece is the size of collected pieces, in bytes.
	saidPiece = 64 << 10
	// saidWhole is the length from which a text becomes a piece without being copied.
	saidWhole = 4 << 10
)

// said is a growing text that is compared with others. It is stored in pieces: a single string would be copied repeatedly, and may be
// hundreds of megabytes long.
type said struct {
	pieces []string
	tail   strings.Builder
	size   int
	gone   bool // only the size is kept
}

// add appends to the text.
func (s *said) add(text string) {
	s.size += len(text)
	if s.gone {
		return
	}
	if s.tail.Len()+len(text) > saidPiece || len(text) >= saidWhole {
		s.seal()
	}
	if len(text) >= saidWhole {
		s.pieces = append(s.pieces, text)
	} else {
		s.tail.WriteString(text)
	}
}

// seal turns the tail into a piece.
func (s *said) seal() {
	if s.tail.Len() > 0 {
		s.pieces = append(s.pieces, s.tail.String())
		s.tail.Reset()
	}
}

// drop keeps only the size.
func (s *said) drop() { *s = said{size: s.size, gone: true} }

// each calls f with the n bytes from index at on, piece by piece.
func (s *said) each(at, n int, f func(piece string)) {
	s.seal()
	for _, piece := range s.pieces {
		if at >= len(piece) {
			at -= len(piece)
			continue
		}
		piece = piece[at:min(len(piece), at+n)]
		f(piece)
		if n, at = n-len(piece), 0; n == 0 {
			return
		}
	}
}

// has reports whether text is at index at in s. It returns false if only the size is kept.
func (s *said) has(at int, text string) bool {
	if s.gone || at < 0 || at+len(text) > s.size {
		return false
	}
	same := true
	s.each(at, len(text), func(piece string) {
		same = same && strings.HasPrefix(text, piece)
		text = text[len(piece):]
	})
	return same
}
