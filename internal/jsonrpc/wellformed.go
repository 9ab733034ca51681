package jsonrpc

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"droid-acp/internal/text/rawjson"
)

// wellFormed is JSON as strict readers take it: in UTF-8, and without an escape that is
// one half of a character. Such halves become the sign for what cannot be read, as most
// readers make of them. Values that are passed on as they came may have both: ids of
// requests, and what a model or droid wrote.
func wellFormed(text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if i := firstHalf(text); i >= 0 {
		return withoutHalves(text, i)
	}
	return text
}

func isWellFormed(text []byte) bool { return utf8.Valid(text) && firstHalf(text) < 0 }

// firstHalf is where the first such escape stands, -1 if there is none.
func firstHalf(text []byte) int {
	for i := bytes.IndexByte(text, '\\'); i >= 0 && i < len(text); {
		length, half := escape(text[i:])
		if half {
			return i
		}
		i += length
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return -1
		}
		i += next
	}
	return -1
}

// withoutHalves is a copy of the text, of which the first half stands at i.
func withoutHalves(text []byte, i int) []byte {
	whole := append(make([]byte, 0, len(text)), text[:i]...)
	for i < len(text) {
		if text[i] != '\\' {
			whole = append(whole, text[i])
			i++
			continue
		}
		length, half := escape(text[i:])
		if half {
			whole = append(whole, `\ufffd`...)
		} else {
			whole = append(whole, text[i:i+length]...)
		}
		i += length
	}
	return whole
}

// escape is how long the escape is with which a text begins, both halves of a character
// together, and whether it is a half by itself.
func escape(text []byte) (length int, half bool) {
	first := rawjson.HexRune(text)
	switch {
	case first < 0:
		return min(2, len(text)), false
	case !utf16.IsSurrogate(first):
		return 6, false
	case utf16.DecodeRune(first, rawjson.HexRune(text[6:])) != utf8.RuneError:
		return 12, false
	}
	return 6, true
}
