package via

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// directory is a path split into parts. A POSIX path begins with "/", a Windows path with a drive ("C:\") or with a server and a share
// ("\\server\share", "\\wsl$\Ubuntu").
type directory struct {
	windows bool
	text    string     // as written
	parts   []pathPart // without empty parts and "."
}

// pathPart is a name in a path. The drive and the server are parts, too.
type pathPart struct {
	name string // decoded, in a URI
	key  string // equal for all spellings of a name
	end  int    // index in the text behind the part
}

// isDrive reports whether a text begins with a drive: "C:".
func isDrive(text string) bool {
	return len(text) >= 2 && text[1] == ':' && ('a' <= text[0]|0x20 && text[0]|0x20 <= 'z')
}

// readPath parses an absolute path. ok is false for a relative path, for one with "..", whose target is unknown here, and for one with a
// name that is invalid on its system.
func readPath(text string) (d directory, ok bool) {
	d.text = text
	switch {
	case strings.HasPrefix(text, `\\`):
		return d.read(2, `\/`, `\\`, plain)
	case isDrive(text) && len(text) > 2 && strings.IndexByte(`\/`, text[2]) >= 0:
		return d.read(0, `\/`, "", plain)
	case strings.HasPrefix(text, "/"):
		return d.read(0, "/", "/", plain)
	}
	return d, false
}

// readURI parses a file URI without "file:", its query and its fragment.
func readURI(text string) (d directory, ok bool) {
	path, hasHost := strings.CutPrefix(text, "//")
	host := ""
	if hasHost {
		host = path
		if i := strings.IndexByte(path, '/'); i >= 0 {
			host, path = path[:i], path[i:]
		}
	}
	drive, _ := url.PathUnescape(strings.TrimPrefix(path, "/")) // an invalid one is noticed when it is parsed
	switch {
	case host != "" && !strings.EqualFold(host, "localhost"):
		d.text = host + path
		return d.read(0, "/", `\\`, url.PathUnescape)
	case isDrive(drive) && (len(drive) == 2 || drive[2] == '/'):
		d.text = path[1:]
		return d.read(0, "/", "", url.PathUnescape)
	case strings.HasPrefix(path, "/"):
		d.text = path
		return d.read(0, "/", "/", url.PathUnescape)
	}
	return d, false
}

func plain(text string) (string, error) { return text, nil }

// read parses the parts from index i on. first is the text before the first part: "/" for POSIX, "\\" for a server, "" for a drive.
func (d *directory) read(i int, separators, first string, decode func(string) (string, error)) (_ directory, ok bool) {
	d.windows = first != "/"
	for i <= len(d.text) {
		end := strings.IndexAny(d.text[i:], separators)
		if end < 0 {
			end = len(d.text) - i
		}
		name, err := decode(d.text[i : i+end])
		i += end
		switch {
		case err != nil, name == "..", strings.ContainsAny(name, "\x00/"), d.isDevice(first, name):
			return *d, false
		case name != "" && name != ".":
			isRoot := len(d.parts) == 0
			if d.windows && !isRoot && !isWindowsName(name) {
				return *d, false
			}
			d.parts = append(d.parts, pathPart{name, d.key(name, isRoot), i})
		}
		i++ // skip the separator
	}
	return *d, !d.windows || len(d.parts) > 0
}

// isDevice reports whether a path that begins with "\\" is a device path rather than one of a server: "\\\\?\C:\x".
func (d *directory) isDevice(first, name string) bool {
	return first == `\\` && len(d.parts) == 0 && (name == "" || name == "." || name == "?")
}

// key returns a name in the form in which the system compares it. A WSL distribution has two server names.
func (d *directory) key(name string, isRoot bool) string {
	if !d.windows {
		return name
	}
	if key := strings.ToLower(name); !isRoot || key != "wsl.localhost" {
		return key
	}
	return "wsl$"
}

// invalidOnWindows matches names that Windows rejects or interprets differently: a stream of a file, a device, or a name whose end is
// stripped.
var invalidOnWindows = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)[\x00-\x1f<>:"|?*\\/]|[. ]$|^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)
})

func isWindowsName(name string) bool { return !invalidOnWindows().MatchString(name) }

// contains reports whether other is d or below it.
func (d *directory) contains(other *directory) bool {
	return d.windows == other.windows && len(d.parts) <= len(other.parts) &&
		slices.EqualFunc(d.parts, other.parts[:len(d.parts)], func(a, b pathPart) bool { return a.key == b.key })
}

// below returns the rest of other's text below d, which contains it, with its first separator; "" for d itself, in any spelling.
func (d *directory) below(other *directory) string {
	switch n := len(d.parts); n {
	case len(other.parts):
		return ""
	case 0:
		return other.text
	default:
		return other.text[other.parts[n-1].end:]
	}
}

// isRoot reports whether d is "/" or a drive, whose path must end with a separator.
func (d *directory) isRoot() bool {
	return len(d.parts) == 0 || len(d.parts) == 1 && isDrive(d.parts[0].name)
}

// isServer reports whether d is a server without a share, which is not a directory.
func (d *directory) isServer() bool { return d.windows && len(d.parts) == 1 && !d.isRoot() }

// names returns the names of the parts.
func (d *directory) names() (names []string) {
	for _, p := range d.parts {
		names = append(names, p.name)
	}
	return names
}

// path returns d with below appended, which begins with a separator or is empty. ofWindows says that below uses Windows' separators.
func (d *directory) path(below string, ofWindows bool) string {
	if below == "" && d.isRoot() {
		below = "/"
	}
	switch {
	case d.windows:
		path := strings.Join(d.names(), `\`) + strings.ReplaceAll(below, "/", `\`)
		if isDrive(path) {
			return path
		}
		return `\\` + path
	case ofWindows:
		below = strings.ReplaceAll(below, `\`, "/")
	}
	if len(d.parts) == 0 {
		return below
	}
	return "/" + strings.Join(d.names(), "/") + below
}

// uri returns d as an escaped file URI without its scheme, with below appended.
func (d *directory) uri(below string) string {
	if below == "" && d.isRoot() {
		below = "/"
	}
	path := ""
	for i, name := range d.names() {
		if path += "/"; i == 0 && isDrive(name) {
			path += name
		} else {
			path += url.PathEscape(name)
		}
	}
	if d.windows && !isDrive(d.parts[0].name) {
		return "/" + path + below // the first name is the server
	}
	return "//" + path + below
}
