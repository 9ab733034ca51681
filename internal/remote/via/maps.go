package via

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/rawjson"
)

// Maps say which directories of this machine correspond to which at the far side. Without maps, both sides have the same paths.
//
// The map with the longest matching directory counts, compared by whole names. A translated path must translate back to itself; otherwise
// no map covers it. So a directory that another map hides is not visible, as below a mount point.
type Maps []mapping

// mapping is a directory here and its counterpart at the far side.
type mapping [2]directory

// Sides of a mapping.
const (
	near = 0
	far  = 1
)

func (m mapping) String() string { return m[near].text + "=" + m[far].text }

// ReadMaps parses maps of the form LOCAL=REMOTE. A leading "~" of LOCAL is replaced by home. An error is a sentence for the user.
func ReadMaps(texts []string, home string) (Maps, error) {
	var maps Maps
	for _, text := range texts {
		m, err := readMap(text, home)
		if err != nil {
			return nil, fmt.Errorf("the map %q %w", text, err)
		}
		for _, other := range maps {
			for side, name := range []string{"LOCAL", "REMOTE"} {
				if m[side].contains(&other[side]) && other[side].contains(&m[side]) {
					return nil, fmt.Errorf("the maps %q and %q have the same %s", other, m, name)
				}
			}
		}
		maps = append(maps, m)
	}
	return maps, nil
}

func readMap(text, home string) (m mapping, err error) {
	var ways []mapping
	remote := ""
	for i := range len(text) {
		if text[i] != '=' {
			continue
		}
		local := text[:i]
		if rest, ok := strings.CutPrefix(local, "~"); ok && home != "" && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
			local = home + rest
		}
		remote = text[i+1:]
		here, ok := readPath(local)
		there, okThere := readPath(remote)
		if ok && okThere && !here.isServer() && !there.isServer() {
			ways = append(ways, mapping{here, there})
		}
	}
	switch {
	case len(ways) == 1:
		return ways[0], nil
	case len(ways) > 1:
		return m, fmt.Errorf("can be read in %d ways: a directory with = in its name cannot be mapped", len(ways))
	case !strings.Contains(text, "="):
		return m, fmt.Errorf("has no =: it must be LOCAL=REMOTE, such as /home/me/src=/workspaces/src")
	case strings.HasPrefix(remote, "~"):
		return m, fmt.Errorf("has a ~ behind the =: what that is at the far side is not known here, so write the whole path")
	}
	return m, fmt.Errorf("must have two absolute paths without .. in them, such as /home/me/src=/workspaces/src")
}

// find returns the index of the map with the longest directory that contains d on this side, -1 if there is none.
func (m Maps) find(side int, d *directory) int {
	found := -1
	for i := range m {
		if of := &m[i][side]; of.contains(d) && (found < 0 || len(of.parts) > len(m[found][side].parts)) {
			found = i
		}
	}
	return found
}

// directories returns the directory of the map that contains a path, on the path's own side, and its counterpart. ok is false if no map
// covers the path.
func (m Maps) directories(to int, d *directory) (of, is *directory, ok bool) {
	i := m.find(1-to, d)
	if i < 0 {
		return nil, nil, false
	}
	of, is = &m[i][1-to], &m[i][to]
	there := directory{windows: is.windows, parts: append(is.parts[:len(is.parts):len(is.parts)], d.parts[len(of.parts):]...)}
	for j := len(is.parts); j < len(there.parts); j++ {
		p := &there.parts[j]
		if is.windows && !isWindowsName(p.name) || !is.windows && d.windows && strings.Contains(p.name, `\`) {
			return nil, nil, false
		}
		p.key = there.key(p.name, false)
	}
	return of, is, m.find(to, &there) == i
}

// translate returns the other side's name for a path or URI. ok is false if no map covers it. Values that do not name a file by themselves
// are unchanged: an empty one, a relative path, a URI of another scheme, a program to be found in the PATH. So is a program outside of the
// maps, which both sides may have.
func (m Maps) translate(to int, kind, value string) (_ string, ok bool) {
	if len(m) == 0 || value == "" {
		return value, true
	}
	isURI := len(value) >= 5 && strings.EqualFold(value[:5], "file:")
	if isURI && kind == paths.URI {
		return m.translateURI(to, value)
	}
	if d, ok := readPath(value); ok {
		if of, is, ok := m.directories(to, &d); ok {
			return is.path(of.below(&d), d.windows), true
		}
		return value, kind == paths.Program
	}
	return value, kind == paths.Program || kind == paths.URI && !isPath(value) || kind == paths.File && isRelative(value)
}

func (m Maps) translateURI(to int, value string) (_ string, ok bool) {
	path, more := value[5:], ""
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path, more = path[:i], path[i:]
	}
	d, ok := readURI(path)
	if !ok {
		return value, false
	}
	of, is, ok := m.directories(to, &d)
	if !ok {
		return value, false
	}
	return value[:5] + is.uri(of.below(&d)) + more, true
}

// isPath reports whether the value of a URI field is a path instead.
func isPath(value string) bool {
	return strings.HasPrefix(value, "/") || strings.HasPrefix(value, `\`) || isDrive(value)
}

// isRelative reports whether a path names the same file below a directory on either side. A path that leaves the directory does not, nor
// one that some program may interpret as absolute.
func isRelative(value string) bool {
	if isPath(value) || strings.HasPrefix(value, "~") || len(value) >= 5 && strings.EqualFold(value[:5], "file:") {
		return false
	}
	for name := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '/' || r == '\\' }) {
		if name == ".." {
			return false
		}
	}
	return true
}

// outsidePath is a path that no map covers.
type outsidePath struct{ field, path string }

// rewrite translates the paths in the value that begins at begin in the line. It returns the first path that no map covers, which is
// unchanged; nil if there is none.
func (m Maps) rewrite(to int, line []byte, begin int, places *paths.PathFields) (_ []byte, first *outsidePath) {
	if len(m) == 0 {
		return line, nil
	}
	line = places.Rewrite(line, begin, func(place, kind string, value []byte) []byte {
		if !rawjson.IsString(value) || kind == paths.Command {
			return nil // a value of another type is not a path
		}
		path := rawjson.Unquote(value)
		is, ok := m.translate(to, kind, path)
		if !ok && first == nil {
			first = &outsidePath{place, path}
		}
		if is == path {
			return nil
		}
		text, _ := json.Marshal(is) // a string can always be encoded
		return text
	})
	return line, first
}

// localCommand rewrites how the far side starts a program there to how it is started from here: by the relay's command, with the program's
// arguments appended. A value of another form is removed.
func localCommand(command []string, value []byte) []byte {
	fields, args := map[string]json.RawMessage{}, []string{}
	if json.Unmarshal(value, &fields) != nil || fields["args"] != nil && json.Unmarshal(fields["args"], &args) != nil {
		return []byte("null")
	}
	fields["command"], _ = json.Marshal(command[0])
	fields["args"], _ = json.Marshal(append(command[1:len(command):len(command)], args...)) // texts can always be encoded
	if fields["env"] != nil {
		fields["env"] = []byte("{}") // it would apply to the command here
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return []byte("null")
	}
	return text
}
