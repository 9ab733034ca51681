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

// Prompt is one prompt with the expectations of its turn.
type Prompt struct {
	Text   string
	Schema json.RawMessage // that the answer must match, nil for none
	Expect []Expectation
}

// Expectation is checked when a turn has ended: against the answer, or against a file if Path is not "".
type Expectation struct {
	Path     string // relative to the session's directory, with slashes
	Contains string // required text of the answer or the file; "" is enough for a file
	Schema   bool   // the answer must match the prompt's schema; no other field is set
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

// WithSchema requires the answer to match a JSON schema, given as the text of an object, and adds that expectation.
func (p *Prompt) WithSchema(text []byte) error {
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil || schema == nil {
		return fmt.Errorf("it is no JSON schema: %w", cmp.Or(err, errors.New("it is no object")))
	}
	p.Schema = text
	p.Expect = append(p.Expect, Expectation{Schema: true})
	return nil
}

// File expects a file. spec is its path relative to the session's directory, optionally followed by "=" and the text that it must contain.
func File(spec string) (Expectation, error) {
	path, text, _ := strings.Cut(spec, "=")
	path = filepath.ToSlash(path)
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return Expectation{}, fmt.Errorf("%q is no path below the session's directory", path)
	}
	return Expectation{Path: path, Contains: text}, nil
}

// separator separates two prompts of a file.
const separator = "---"

// keys are the keys of lines with expectations.
var keys = map[string]func(value string) (Expectation, error){"expect": Answer, "expect-file": File}

// Patterns of lines with such a key, and with an invalid key that begins with the word expect.
var (
	keyed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(expect|expect-file):[ \t]*(.*)$`) })
	wrong = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(expect[\w-]*)[ \t]*[:=]`) })
)

// ParsePrompts parses a file of prompts, which are separated by lines "---". Lines at the end of a prompt that begin with "expect:" or
// "expect-file:" are its expectations, as in the flags of these names. Any other key that begins with expect is an error, so that no
// intended check is missed. A backslash before such a line makes it part of the prompt. Errors name the line.
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

// parsePrompt parses the lines of one prompt, the first of which has this number.
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
