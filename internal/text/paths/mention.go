package paths

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Mention returns the reference to a resource in a prompt: "@" and the path of a file, with the line range of the URI's fragment, or any
// other URI with its name, which may be "".
func Mention(uri, name string) string {
	if path, ok := FromURI(uri); ok {
		ref := "@" + path
		if u, err := url.Parse(uri); err == nil && u.Fragment != "" {
			ref += " (" + u.Fragment + ")"
		}
		return ref
	}
	if name == "" || name == uri {
		return uri
	}
	return name + " (" + uri + ")"
}

// Mentioned returns the absolute paths of the files mentioned in text. Some clients leave mentions in the text although they attach the
// file as well.
func Mentioned(text, dir string) (found []string) {
	for _, word := range strings.Fields(text) {
		if path, ok := strings.CutPrefix(strings.TrimLeft(word, "(\"'`"), "@"); ok {
			found = append(found, Absolute(dir, strings.TrimRight(path, ".,:;!?)\"'`")))
		}
	}
	return found
}

// Mentions reports whether text mentions the file called name. If name is only the last element of a path, any path ending in it counts,
// since droid keeps no more than that of an attached PDF.
func Mentions(text, name, dir string) bool {
	if name == "" {
		return false
	}
	return strings.Contains(text, "@"+name) || strings.Contains(text, "@"+Relative(dir, name)) ||
		!filepath.IsAbs(name) && strings.Contains(text, string(filepath.Separator)+name)
}

// noSuchFile follows the mention of a missing file.
const noSuchFile = " (there is no such file)"

// MarkMissing adds to a mention that the file does not exist, so that the model does not search for it.
func MarkMissing(mention string) string { return mention + noSuchFile }

// markedMention matches a mention marked by MarkMissing.
var markedMention = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(@(?:/|[A-Za-z]:\\)[^@\n]*?)` + regexp.QuoteMeta(noSuchFile))
})

// UnmarkMissing removes the marks of MarkMissing from text.
func UnmarkMissing(text string) string {
	if !strings.Contains(text, noSuchFile) {
		return text
	}
	return markedMention().ReplaceAllString(text, "$1")
}
