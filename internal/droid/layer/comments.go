package layer

// WithoutComments returns JSON with its comments ("//" to the end of the line, "/*" to
// "*/") blanked out, as settings files of droid may have them. All else stays where it
// is. A comment that does not end leaves its "/*" and is no JSON.
func WithoutComments(data []byte) []byte {
	out := append([]byte(nil), data...)
	for i := 0; i < len(out); {
		switch {
		case out[i] == '"':
			i = behindString(out, i)
		case out[i] == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end, ok := behindComment(out, i)
			if !ok {
				return out
			}
			for ; i < end; i++ {
				if out[i] != '\n' && out[i] != '\r' {
					out[i] = ' '
				}
			}
		default:
			i++
		}
	}
	return out
}

// behindString returns where the string that begins at i has ended.
func behindString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// behindComment returns where the comment that begins at i has ended, and whether it has.
func behindComment(data []byte, i int) (end int, ok bool) {
	line := data[i+1] == '/'
	for i += 2; i < len(data); i++ {
		switch {
		case line && (data[i] == '\n' || data[i] == '\r'):
			return i, true
		case !line && data[i] == '*' && i+1 < len(data) && data[i+1] == '/':
			return i + 2, true
		}
	}
	return len(data), line
}
