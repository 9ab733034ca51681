package smoke

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Prompt is one prompt with what is expected of its turn.
type Prompt struct {
	Text   string
	Schema json.RawMessage // that the answer must have the form of, nil for none
	Expect []Expectation
}

// Expectation is met or not when a turn has ended: by the answer, or by a file when
// Path is not "".
type Expectation struct {
	Path     string // below the session's directory, with slashes
	Contains string // what the answer or the file must contain; of a file "" is enough
	Schema   bool   // the answer must have come in the form of the prompt's schema; nothing else is set
}

func (e Expectation) String() string {
	switch {
	case e.Schema:
		return "the answer has the form of the schema"
	case e.Path == "":
		return fmt.Sprintf("the answer contains %q", e.Contains)
	case e.Contains == "":
		return "there is a file " + e.Path
	}
	return fmt.Sprintf("the file %s contains %q", e.Path, e.Contains)
}

// Answer expects that the answer contains text.
func Answer(text string) (Expectation, error) {
	if text == "" {
		return Expectation{}, errors.New("an expectation of the answer needs a text")
	}
	return Expectation{Contains: text}, nil
}

// WithSchema has the answer to a prompt have the form of a JSON schema, which is the text of an object, and expects that.
func (p *Prompt) WithSchema(text []byte) error {
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil || schema == nil {
		return fmt.Errorf("it is no JSON schema: %w", cmp.Or(err, errors.New("it is no object")))
	}
	p.Schema = text
	p.Expect = append(p.Expect, Expectation{Schema: true})
	return nil
}

// File expects a file. spec is its path below the session's directory, and after a
// "=", if there is one, what it must contain.
func File(spec string) (Expectation, error) {
	path, text, _ := strings.Cut(spec, "=")
	path = filepath.ToSlash(path)
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return Expectation{}, fmt.Errorf("%q is no path below the session's directory", path)
	}
	return Expectation{Path: path, Contains: text}, nil
}

// separator parts two prompts of a file.
const separator = "---"

// keys begin the lines that say what is expected of a prompt.
var keys = map[string]func(value string) (Expectation, error){"expect": Answer, "expect-file": File}

// Lines of such a key, and lines of a wrong one, which begins with the word all the same.
var (
	keyed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(expect|expect-file):[ \t]*(.*)$`) })
	wrong = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(expect[\w-]*)[ \t]*[:=]`) })
)

// ParsePrompts reads a file of prompts. A line "---" stands between two of them. The
// lines at a prompt's end that begin with "expect:" or "expect-file:" are its
// expectations, as in the flags of these names. A key that begins so and is
// another is an error, so that nothing is unchecked that was meant to be checked. A backslash before such a line
// makes it a line of the prompt. Errors name the line.
func ParsePrompts(text string) ([]Prompt, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("it is no UTF-8 text")
	}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	var prompts []Prompt
	var block []string
	lines := append(strings.Split(strings.TrimRight(text, "\n"), "\n"), separator)
	for i, line := range lines {
		if strings.TrimRight(line, " \t") != separator {
			block = append(block, line)
			continue
		}
		prompt, err := parsePrompt(block, i-len(block)+1)
		if err != nil {
			return nil, err
		}
		prompts, block = append(prompts, prompt), nil
	}
	return prompts, nil
}

// parsePrompt reads the lines of one prompt, of which the first has this number.
func parsePrompt(lines []string, first int) (p Prompt, err error) {
	end := len(lines)
	for ; end > 0; end-- {
		line := strings.TrimSpace(lines[end-1])
		if line == "" {
			continue
		}
		found := keyed().FindStringSubmatch(line)
		if found == nil {
			if key := wrong().FindStringSubmatch(line); key != nil {
				return p, fmt.Errorf(`line %d: the keys are "expect:" and "expect-file:", and %q is none; write \ before the line if it belongs to the prompt`, first+end-1, short(key[1]))
			}
			break
		}
		e, err := keys[found[1]](found[2])
		if err != nil {
			return p, fmt.Errorf("line %d: %w", first+end-1, err)
		}
		p.Expect = append(p.Expect, e)
	}
	slices.Reverse(p.Expect) // they were read from the end
	text := lines[:end:end]
	for i, line := range text {
		rest, found := strings.CutPrefix(line, `\`)
		switch {
		case found && (rest == separator || keyed().MatchString(rest) || wrong().MatchString(rest)):
			text[i] = rest
		case keyed().MatchString(line):
			return p, fmt.Errorf(`line %d: an expectation stands behind the text of its prompt; move %q there, or write \ before it if it belongs to the prompt`, first+i, short(line))
		}
	}
	if p.Text = strings.Trim(strings.Join(text, "\n"), "\n"); strings.TrimSpace(p.Text) == "" {
		return p, fmt.Errorf("line %d: there is no prompt", first)
	}
	return p, nil
}
