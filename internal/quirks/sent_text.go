package quirks

import "strings"

const (
	// sentPieceSize is the size of collected pieces, in bytes.
	sentPieceSize = 64 << 10
	// uncopiedSize is the length from which a text becomes a piece without being copied.
	uncopiedSize = 4 << 10
)

// sentText is a growing text that is compared with others. It is stored in pieces: a single string would be copied repeatedly, and may be
// hundreds of megabytes long.
type sentText struct {
	pieces  []string
	tail    strings.Builder
	size    int
	dropped bool // only the size is kept
}

// add appends to the text.
func (s *sentText) add(text string) {
	s.size += len(text)
	if s.dropped {
		return
	}
	if s.tail.Len()+len(text) > sentPieceSize || len(text) >= uncopiedSize {
		s.seal()
	}
	if len(text) >= uncopiedSize {
		s.pieces = append(s.pieces, text)
	} else {
		s.tail.WriteString(text)
	}
}

// seal turns the tail into a piece.
func (s *sentText) seal() {
	if s.tail.Len() > 0 {
		s.pieces = append(s.pieces, s.tail.String())
		s.tail.Reset()
	}
}

// drop keeps only the size.
func (s *sentText) drop() { *s = sentText{size: s.size, dropped: true} }

// each calls f with the n bytes from index at on, piece by piece.
func (s *sentText) each(at, n int, f func(piece string)) {
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
func (s *sentText) has(at int, text string) bool {
	if s.dropped || at < 0 || at+len(text) > s.size {
		return false
	}
	same := true
	s.each(at, len(text), func(piece string) {
		same = same && strings.HasPrefix(text, piece)
		text = text[len(piece):]
	})
	return same
}
