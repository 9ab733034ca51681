package docs

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"
	"github.com/tailscale/hujson"
	"github.com/yuin/gopher-lua/parse"
	"go.yaml.in/yaml/v3"
)

// languages are those that a code block may have, each with what its text must pass. Those
// with commands are read in commands_test.go as well.
var languages = map[string]func(text string) error{
	"json":  jsonc,
	"jsonc": jsonc,
	"jsonl": jsonLines,
	"yaml":  func(text string) error { return yaml.Unmarshal([]byte(text), new(any)) },
	"toml":  func(text string) error { return toml.Unmarshal([]byte(text), new(any)) },
	"xml":   xmlTree,
	"lua":   lua,
	"elisp": lisp,
	"go":    goFile,
	"js":    javaScript,

	"sh": nothing, "bash": nothing, "zsh": nothing, "console": nothing, "fish": nothing, "powershell": nothing,
	"text": nothing, "diff": nothing,
}

func nothing(string) error { return nil }

// jsonc also takes comments and commas before a closing bracket, as editors do.
func jsonc(text string) error {
	_, err := hujson.Parse([]byte(text))
	return err
}

func jsonLines(text string) error {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if err := json.Unmarshal([]byte(line), new(any)); err != nil {
			return err
		}
	}
	return nil
}

func xmlTree(text string) error {
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		switch _, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// lua takes a program, or a table as it stands among other tables.
func lua(text string) error {
	_, err := parse.Parse(strings.NewReader(text), "block")
	if err != nil {
		if _, asTable := parse.Parse(strings.NewReader("return {"+text+"}"), "block"); asTable == nil {
			return nil
		}
	}
	return err
}

func goFile(text string) error {
	_, err := parser.ParseFile(token.NewFileSet(), "block.go", text, parser.AllErrors)
	return err
}

// javaScript has node look at the grammar of a module, where there is node.
func javaScript(text string) error {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil
	}
	file, err := os.CreateTemp("", "block*.mjs")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err := file.WriteString(text); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if out, err := exec.Command(node, "--check", file.Name()).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// lisp takes what has as many closing brackets as opening ones, each in its place.
func lisp(text string) error {
	var open []rune
	inString, inComment, escaped := false, false, false
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
		case inComment:
			inComment = r != '\n'
		case r == '\\':
			escaped = true
		case r == '"':
			inString = !inString
		case inString:
		case r == ';':
			inComment = true
		case r == '(' || r == '[':
			open = append(open, r)
		case r == ')' || r == ']':
			if len(open) == 0 || open[len(open)-1] != map[rune]rune{')': '(', ']': '['}[r] {
				return fmt.Errorf("%c has no opening bracket", r)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 || inString {
		return errors.New("a bracket or a string is not closed")
	}
	return nil
}

// checkBlocks returns which code blocks have no known language, or cannot be read as one.
func checkBlocks(all map[string]*document) (wrong []string) {
	for _, d := range all {
		for _, b := range d.blocks {
			if check := languages[b.lang]; check == nil {
				wrong = append(wrong, fmt.Sprintf("%s:%d: a block of language %q (text is one, too): nobody checks it", d.path, b.line, b.lang))
			} else if err := check(b.text); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s: %v", d.path, b.line, b.lang, err))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

func TestBlocks(t *testing.T) { require.Empty(t, checkBlocks(readDocuments(t, root))) }

func TestWrongBlocksAreFound(t *testing.T) {
	for name, tc := range map[string]struct{ lang, good, bad string }{
		"json":         {"json", "{\"a\": [1]}", "{\"a\": [1}"},
		"json comment": {"json", "{ // why\n \"a\": 1,\n}", "{ # why\n \"a\": 1 }"},
		"jsonl":        {"jsonl", "{}\n[]\n", "{}\n[\n"},
		"yaml":         {"yaml", "a:\n  - b: c\n", "a:\n  - b: c\n d: e\n"},
		"toml":         {"toml", "[a]\nb = \"c\"\n", "[a]\nb = c\n"},
		"xml":          {"xml", "<a><b/></a>", "<a><b></a>"},
		"lua":          {"lua", "require('x').setup({ a = { 'b' } })", "require('x').setup({ a = { 'b' )"},
		"lua table":    {"lua", "{ 'a/b', opts = {} },\n{ 'c/d' }", "{ 'a/b', opts = {} },\n{ 'c/d'"},
		"elisp":        {"elisp", "(a '(b . \"(\") [?\\( c]) ; (", "(a '(b . \"c\") [d)]"},
		"elisp open":   {"elisp", "(a)", "(a"},
		"elisp string": {"elisp", "\"a\"", "\"a"},
		"elisp closed": {"elisp", "(a)", "(a))"},
		"go":           {"go", "package a\n\nfunc b() {}", "package a\n\nfunc b() {"},
		"known":        {"text", "a", ""},
	} {
		check := func(lang, text string) []string {
			return checkBlocks(map[string]*document{"a.md": parseDocument("a.md", "```"+lang+"\n"+text+"\n```\n")})
		}
		require.Empty(t, check(tc.lang, tc.good), name)
		if tc.bad != "" {
			require.Len(t, check(tc.lang, tc.bad), 1, name)
		}
	}
	require.NoError(t, javaScript("await import('a')"))
	if _, err := exec.LookPath("node"); err == nil {
		require.Error(t, javaScript("await import('a'"))
	}
	for _, unknown := range []string{"```\nmake\n```\n", "```cobol\nmake\n```\n", "a\n\n    make\n"} {
		require.Len(t, checkBlocks(map[string]*document{"a.md": parseDocument("a.md", unknown)}), 1, unknown)
	}
}
