package jsonrpc

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"droid-acp/internal/text/rawjson"
)

// wellFormed makes JSON acceptable to strict readers: valid UTF-8 without escaped unpaired surrogates, which become U+FFFD as in most
// readers. Values passed through unchanged may contain both: request IDs, and text by a model or droid.
func wellFormed(text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if i := firstUnpaired(text); i >= 0 {
		return replaceUnpaired(text, i)
	}
	return text
}

func isWellFormed(text []byte) bool { return utf8.Valid(text) && firstUnpaired(text) < 0 }

// firstUnpaired returns the index of the first escaped unpaired surrogate, or -1.
func firstUnpaired(text []byte) int {
	for i := 0; ; {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return -1
		}
		i += next
		length, half := escape(text[i:])
		if half {
			return i
		}
		i += length
	}
}

// replaceUnpaired returns a copy of text without unpaired surrogates, the first of which is at i.
func replaceUnpaired(text []byte, i int) []byte {
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

// escape returns the length of the escape at the beginning of text, of a surrogate pair as a whole, and whether it is an unpaired
// surrogate.
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
