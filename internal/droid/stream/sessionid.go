package stream

import "strings"

// MaxSessionID is the maximum length of an ID in bytes; a UUID has 36.
const MaxSessionID = 128

// ValidSessionID reports whether id names one file in one directory and nothing else, on every system. droid generates UUIDs, but accepts
// other IDs from its clients and keeps them in its store. It joins the ID to its store's directory unchecked, so every ID is checked before
// it is used: the editor's when it arrives, droid's own when its answers are read, and the names of files in the store.
func ValidSessionID(id string) bool {
	if id == "" || len(id) > MaxSessionID || id[len(id)-1] == '.' || isDevice(id) {
		return false
	}
	for i, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '-' || c == '_' || c == '.'):
		default:
			return false
		}
	}
	return true
}

// isDevice reports whether Windows interprets a name as a device, whatever follows its first dot.
func isDevice(id string) bool {
	name, _, _ := strings.Cut(strings.ToUpper(id), ".")
	switch name {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(name) == 4 && (strings.HasPrefix(name, "COM") || strings.HasPrefix(name, "LPT")) && '0' <= name[3] && name[3] <= '9'
}
