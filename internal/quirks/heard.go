package quirks

import (
	"hash/maphash"
	"strings"
)

// heard is text that was passed on, kept to be compared with droid's snapshot of
// the message. A model that was asked to stop may say a lot before it does: from
// then on only the length and a hash are kept.
type heard struct {
	text   strings.Builder // unless hashed
	hashed bool
	sum    maphash.Hash
	n      int // bytes hashed
}

// add takes the next piece.
func (h *heard) add(piece string, keep bool) {
	if keep && !h.hashed {
		h.text.WriteString(piece)
		return
	}
	if !h.hashed {
		h.hashed = true
		h.hash(h.text.String())
		h.text = strings.Builder{}
	}
	h.hash(piece)
}

func (h *heard) hash(piece string) {
	_, _ = h.sum.WriteString(piece) // never fails
	h.n += len(piece)
}

func (h *heard) len() int {
	if h.hashed {
		return h.n
	}
	return h.text.Len()
}

// begins reports whether whole begins with what was heard, and what follows then.
func (h *heard) begins(whole string) (rest string, ok bool) {
	if !h.hashed {
		return strings.CutPrefix(whole, h.text.String())
	}
	if len(whole) < h.n || maphash.String(h.sum.Seed(), whole[:h.n]) != h.sum.Sum64() {
		return whole, false
	}
	return whole[h.n:], true
}

// endsIn reports whether what was heard ends with text, as far as that can still
// be known.
func (h *heard) endsIn(text string) bool {
	return !h.hashed && strings.HasSuffix(h.text.String(), text)
}
