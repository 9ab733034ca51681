package projectconfig

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"droid-acp/internal/droid/config"
	"droid-acp/internal/sys/files"
)

// gitSetting is one setting in a git configuration file.
type gitSetting struct {
	key   string // as git prints it: section and name in lower case
	value string // "" also for a name without a value
	file  string
}

// section returns the first part of the key, and name the last. A subsection may be between them.
func (s gitSetting) section() string { section, _, _ := strings.Cut(s.key, "."); return section }
func (s gitSetting) name() string    { return s.key[strings.LastIndexByte(s.key, '.')+1:] }

// maxIncludes is how deep configuration files may include each other, as in git.
const maxIncludes = 10

// errGitInclude means that a configuration includes a file that this package does not read.
var errGitInclude = errors.New("it includes a file whose place only git knows")

// maxIncluded is the maximum number of files that one configuration is read from.
const maxIncluded = 100

// gitFault is a configuration file that could not be read, and why.
type gitFault struct {
	file string
	err  error
}

// gitConfigReader reads a git configuration file and those that it includes.
type gitConfigReader struct {
	home     string // replaces "~"
	files    int    // that were read
	settings []gitSetting
	faults   []gitFault
}

// readGitConfig reads a git configuration file and the files that it includes, under any condition. It starts no program, not even git. A
// missing file has no settings. Settings behind a fault are read, too: git reads on where the condition of an include does not hold. home
// replaces "~".
func readGitConfig(path, home string) ([]gitSetting, []gitFault) {
	r := gitConfigReader{home: home}
	r.read(path, 0)
	return r.settings, r.faults
}

// fault records why a file could not be read, once.
func (r *gitConfigReader) fault(path string, err error) {
	if !slices.ContainsFunc(r.faults, func(f gitFault) bool { return f.file == path && f.err.Error() == err.Error() }) {
		r.faults = append(r.faults, gitFault{path, err})
	}
}

func (r *gitConfigReader) read(path string, depth int) {
	switch r.files++; {
	case r.files > maxIncluded:
		r.fault(path, errors.New("it is one of too many files"))
		return
	case depth > maxIncludes:
		r.fault(path, errors.New("its files include each other too deeply"))
		return
	}
	data, err := files.Read(path, config.MaxFile)
	if config.IsAbsent(err) {
		return
	}
	var own []gitSetting
	if err == nil {
		own, err = parseGitConfig(data)
	}
	if err != nil {
		r.fault(path, err)
		return
	}
	for _, s := range own {
		s.file = path
		r.settings = append(r.settings, s)
		if s.name() != "path" || s.value == "" || s.section() != "include" && s.section() != "includeif" || r.files > maxIncluded {
			continue
		}
		base := path[:1+strings.LastIndexFunc(path, isSeparator)]
		if included, ok := gitPath(s.value, base, r.home); ok {
			r.read(included, depth+1)
		} else {
			r.fault(path, errGitInclude)
		}
	}
}

func isSeparator(r rune) bool { return r < utf8.RuneSelf && os.IsPathSeparator(uint8(r)) }

// gitPath resolves a path in a configuration. A relative path is appended to base, which ends with a separator. The result is not cleaned:
// ".." after a symbolic link leads where the link does.
func gitPath(value, base, home string) (path string, ok bool) {
	rest, below := strings.CutPrefix(value, "~/")
	switch {
	case below:
		return home + "/" + rest, true
	case strings.HasPrefix(value, "~") || strings.HasPrefix(value, "%(") || strings.HasPrefix(value, ":("):
		return "", false
	case filepath.IsAbs(value) || strings.HasPrefix(value, "/"):
		return value, true
	}
	return base + value, true
}

// gitSyntaxError is the number of a line where git, too, would report a syntax error.
type gitSyntaxError int

func (e gitSyntaxError) Error() string {
	return fmt.Sprintf("line %d is none of git's configuration", int(e))
}

// gitParser parses a configuration character by character, as git's own parser does (config.c).
type gitParser struct {
	rest []byte
	line int
	end  bool
	all  []gitSetting
}

func parseGitConfig(data []byte) ([]gitSetting, error) {
	if end := bytes.IndexByte(data, 0); end >= 0 { // git takes what is before it for the whole name or value
		return nil, gitSyntaxError(1 + bytes.Count(data[:end], []byte("\n")))
	}
	p := gitParser{rest: bytes.TrimPrefix(data, []byte("\ufeff")), line: 1}
	section := ""
	for !p.end {
		begin, c, ok := p.line, p.next(), true
		switch {
		case isGitSpace(c):
		case c == '#' || c == ';':
			for !p.end && c != '\n' {
				c = p.next()
			}
		case c == '[':
			section, ok = p.header()
		case isLetter(c):
			ok = p.setting(c, section)
		default:
			ok = false
		}
		if !ok {
			return nil, gitSyntaxError(begin)
		}
	}
	return p.all, nil
}

// next returns the next character, a line break at the end.
func (p *gitParser) next() byte {
	if len(p.rest) == 0 {
		p.end = true
		return '\n'
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	if c == '\r' && len(p.rest) > 0 && p.rest[0] == '\n' {
		c, p.rest = '\n', p.rest[1:]
	}
	if c == '\n' {
		p.line++
	}
	return c
}

// header parses a section's name after its bracket, up to the first setting's name. A subsection is in quotes or, in an old form, after a
// dot.
func (p *gitParser) header() (section string, ok bool) {
	var name []byte
	for c := p.next(); c != ']'; c = p.next() {
		if isGitSpace(c) {
			quoted, ok := p.quoted(c)
			return string(bytes.ToLower(name)) + "." + quoted + ".", ok
		}
		if p.end || !isNameCharacter(c) && c != '.' {
			return "", false
		}
		name = append(name, c)
	}
	return string(bytes.ToLower(name)) + ".", true
}

// quoted parses a subsection in quotes and the bracket after it. c is the space before it.
func (p *gitParser) quoted(c byte) (name string, ok bool) {
	for isGitSpace(c) {
		if c == '\n' {
			return "", false
		}
		c = p.next()
	}
	if c != '"' {
		return "", false
	}
	var text []byte
	for c = p.next(); c != '"'; c = p.next() {
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return "", false
		}
		text = append(text, c)
	}
	return string(text), p.next() == ']'
}

// setting parses a name, which begins with c, and its value.
func (p *gitParser) setting(c byte, section string) bool {
	name := []byte{c}
	for c = p.next(); isNameCharacter(c); c = p.next() {
		name = append(name, c)
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	value, ok := "", c == '\n'
	if c == '=' {
		value, ok = p.value()
	}
	p.all = append(p.all, gitSetting{key: section + string(bytes.ToLower(name)), value: value})
	return ok
}

// value parses a value up to the end of its line.
func (p *gitParser) value() (string, bool) {
	var text, spaces []byte
	quote, comment := false, false
	for {
		c := p.next()
		switch {
		case c == '\n':
			return string(text), !quote
		case comment:
			continue
		case isGitSpace(c) && !quote:
			if len(text) > 0 {
				spaces = append(spaces, ' ')
			}
			continue
		case (c == '#' || c == ';') && !quote:
			comment = true
			continue
		}
		text, spaces = append(text, spaces...), nil
		switch c {
		case '"':
			quote = !quote
			continue
		case '\\':
			switch c = p.next(); c {
			case '\n':
				continue
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case 'n':
				c = '\n'
			case '\\', '"':
			default:
				return "", false
			}
		}
		text = append(text, c)
	}
}

func isGitSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isNameCharacter(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '-' }
