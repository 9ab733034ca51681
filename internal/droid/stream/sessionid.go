package stream

import "strings"

// MaxSessionID bounds an id in bytes; a UUID has 36.
const MaxSessionID = 128

// ValidSessionID says whether id names one file in one directory and nothing else, on
// every system. droid makes UUIDs, but takes other ids from its clients, and its
// store keeps them. droid makes a file's name of
// it, joined to its store's directory without a look, so every id is checked before it is used: the editor's on its
// way in, droid's own where its answers are read, and the names of files in the store.
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

// isDevice says whether Windows takes a name for a device, whatever follows its
// first dot.
func isDevice(id string) bool {
	name, _, _ := strings.Cut(strings.ToUpper(id), ".")
	switch name {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(name) == 4 && (strings.HasPrefix(name, "COM") || strings.HasPrefix(name, "LPT")) && '0' <= name[3] && name[3] <= '9'
}
