package paths

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Mention is how a resource is named to the model: "@" with the path of a file, and
// the lines that the URI's fragment names, or the address of anything else with its
// name, which may be "".
func Mention(uri, name string) string {
	if path, ok := OfURI(uri); ok {
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

// Mentioned are the absolute paths of the words of text that mention a file, as some
// clients leave them there when they send the file too.
func Mentioned(text, dir string) (found []string) {
	for _, word := range strings.Fields(text) {
		if path, ok := strings.CutPrefix(strings.TrimLeft(word, "(\"'`"), "@"); ok {
			found = append(found, Absolute(dir, strings.TrimRight(path, ".,:;!?)\"'`")))
		}
	}
	return found
}

// Mentions reports whether text mentions the file of this name: by its path, or, when
// the name is only the last part of a path, by any path that ends so. droid keeps no
// more than that part of an attached PDF.
func Mentions(text, name, dir string) bool {
	if name == "" {
		return false
	}
	return strings.Contains(text, "@"+name) || strings.Contains(text, "@"+Relative(dir, name)) ||
		!filepath.IsAbs(name) && strings.Contains(text, string(filepath.Separator)+name)
}

// noSuchFile follows the mention of a file that is not there.
const noSuchFile = " (there is no such file)"

// MarkMissing adds to the mention of a file that the file is not there: the model
// could search for it long.
func MarkMissing(mention string) string { return mention + noSuchFile }

// markedMention is a mention with what MarkMissing adds.
var markedMention = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(@(?:/|[A-Za-z]:\\)[^@\n]*?)` + regexp.QuoteMeta(noSuchFile))
})

// UnmarkMissing takes from the mentions in text what MarkMissing has added.
func UnmarkMissing(text string) string {
	if !strings.Contains(text, noSuchFile) {
		return text
	}
	return markedMention().ReplaceAllString(text, "$1")
}
