package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// checker finds what a document names and what does not exist.
type checker struct {
	root   string   // the repository
	names  *names   // that the module declares and uses
	roots  []string // the directories that paths may begin in
	builds []string // targets of the Makefile
}

func newChecker(root string) (*checker, error) {
	names, err := readNames(root)
	if err != nil {
		return nil, err
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return nil, err
	}
	c := &checker{root: root, names: names, roots: []string{root, filepath.Join(root, "internal")}}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(string(makefile), -1) {
		c.builds = append(c.builds, m[1])
	}
	return c, nil
}

// methods are how the names of ACP's methods begin.
var methods = []string{"session", "elicitation", "fs", "terminal"}

var (
	quotedPattern = regexp.MustCompile("`([^`]+)`")
	stepPattern   = regexp.MustCompile("^[0-9]+\\. `([^`]+\\.go)`[^`]*: [^`]*`([^`]+)`")
	placePattern  = regexp.MustCompile("`([^`]+)`(?: \\(|,? in )`([^`]+\\.go)`")
	linkPattern   = regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
	inCodePattern = regexp.MustCompile(`[\w./]+\.go\b|\b[a-z]+\.[A-Z]\w*(?:\.\w+)?`)
	namePattern   = regexp.MustCompile(`^[A-Za-z]\w*(?:\.[A-Za-z]\w*){0,2}(?:\(\))?…?$`)
	pathPattern   = regexp.MustCompile(`^[A-Za-z0-9][\w.*/-]*$`)
	filePattern   = regexp.MustCompile(`\.(go|md|sh|txtar)$`)
	smallPattern  = regexp.MustCompile(`[a-z]`)
	largePattern  = regexp.MustCompile(`[A-Z]`)
)

// check returns what is wrong with a document, a line a complaint. dir is where the
// document stands, relative to the repository: its links begin there.
func (c *checker) check(dir, text string) (wrong []string) {
	inCode := false
	for n, line := range strings.Split(text, "\n") {
		complain := func(what string) { wrong = append(wrong, fmt.Sprintf("line %d: %s", n+1, what)) }
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
			continue
		}
		if inCode {
			for _, word := range inCodePattern.FindAllString(line, -1) {
				c.checkSpan(word, complain)
			}
			continue
		}
		if strings.Count(line, "`")%2 != 0 {
			complain("a backquote has no other on its line")
			continue
		}
		for _, m := range quotedPattern.FindAllStringSubmatch(line, -1) {
			c.checkSpan(m[1], complain)
		}
		for _, m := range stepPattern.FindAllStringSubmatch(line, -1) {
			c.checkPlace(m[1], m[2], complain)
		}
		for _, m := range placePattern.FindAllStringSubmatch(line, -1) {
			c.checkPlace(m[2], m[1], complain)
		}
		for _, m := range linkPattern.FindAllStringSubmatch(line, -1) {
			if _, err := os.Stat(filepath.Join(c.root, dir, m[1])); err != nil && !strings.Contains(m[1], "://") {
				complain("there is no file " + m[1] + " to link to")
			}
		}
	}
	return wrong
}

// checkSpan checks what stands between two backquotes.
func (c *checker) checkSpan(span string, complain func(string)) {
	switch {
	case strings.ContainsAny(span, " "):
		c.checkCommand(strings.Fields(span), complain)
	case c.looksLikePath(span):
		if !c.exists(span) {
			complain("there is no file " + span)
		}
	case c.isName(span) && !c.names.have(span):
		complain("nothing is called " + span)
	}
}

// isName reports whether a word is meant for a Go name.
func (c *checker) isName(word string) bool {
	return namePattern.MatchString(word) && !c.looksLikePath(word) &&
		(strings.Contains(word, ".") || smallPattern.MatchString(word) && largePattern.MatchString(word))
}

// checkPlace checks that a name stands in a file.
func (c *checker) checkPlace(path, name string, complain func(string)) {
	if c.isName(name) && c.names.have(name) && c.names.hasFile(path) && !c.names.standsIn(path, name) {
		complain(name + " is not in " + path)
	}
}

func (c *checker) checkCommand(words []string, complain func(string)) {
	for i, word := range words {
		switch path, local := strings.CutPrefix(word, "./"); {
		case local && !c.exists(strings.TrimSuffix(path, "/...")):
			complain("there is no file " + word)
		case i > 0 && words[i-1] == "make" && !slices.Contains(c.builds, word):
			complain("make has no target " + word)
		}
	}
}

// looksLikePath reports whether a word is a path: it has more than one part and is no
// method of ACP, or its end is that of a file's name.
func (c *checker) looksLikePath(word string) bool {
	first, _, more := strings.Cut(word, "/")
	return filePattern.MatchString(word) && word[0] != '~' ||
		more && (pathPattern.MatchString(word) && !slices.Contains(methods, first) || first != "" && c.exists(first))
}

// exists reports whether there is a file of that path, or one that is like it where it
// has a placeholder.
func (c *checker) exists(path string) bool {
	for _, root := range c.roots {
		pattern := filepath.Join(root, strings.NewReplacer("NAME", "*", "VERSION", "*").Replace(path))
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
