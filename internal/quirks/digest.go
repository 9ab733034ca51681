package quirks

import (
	"crypto/sha256"
	"encoding/json"
)

// digest stands for a JSON value that is not kept. It is the same for values that
// differ in white space alone.
type digest [sha256.Size]byte

// digestOf is the digest of a valid JSON value.
func digestOf(raw json.RawMessage) digest {
	hash := sha256.New()
	begin, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			hash.Write(raw[begin:i])
			begin = i + 1
		}
	}
	hash.Write(raw[min(begin, len(raw)):])
	return digest(hash.Sum(nil))
}
