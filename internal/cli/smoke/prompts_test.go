package smoke

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParsePrompts(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []Prompt
	}{
		"one":           {"Say hello.\n", one("Say hello.")},
		"one, no end":   {"Say hello.", one("Say hello.")},
		"several lines": {"\nSay\n\n  hello.\n\n", one("Say\n\n  hello.")},
		"two":           {"a\n---\nb\n", []Prompt{{Text: "a"}, {Text: "b"}}},
		"spaces behind the line, and one of Windows": {"\uFEFFa\r\n--- \t\r\nb\r\n", []Prompt{{Text: "a"}, {Text: "b"}}},
		"longer lines and rules are text":            {"a\n----\n***\n --- b", one("a\n----\n***\n --- b")},
		"expectations": {"a\nexpect: x y \nexpect-file:out.txt\n\nexpect-file: d/e.txt=two=2\n---\nb", []Prompt{
			{Text: "a", Expect: []Expectation{{Contains: "x y"}, {Path: "out.txt"}, {Path: "d/e.txt", Contains: "two=2"}}}, {Text: "b"},
		}},
		"with a backslash":       {"a\n\\---\n\\expect: b\nc\n\\Expect : d", one("a\n---\nexpect: b\nc\nExpect : d")},
		"other backslashes":      {"a \\--- b\n\\n", one("a \\--- b\n\\n")},
		"words that are no keys": {"Expected: 5\nExpect: it\n  expect: code\nExpected output is a file.", one("Expected: 5\nExpect: it\n  expect: code\nExpected output is a file.")},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePrompts(tc.text)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

// TestDocumentedPrompts: the example of docs/ci.md means what the page says.
func TestDocumentedPrompts(t *testing.T) {
	page, err := os.ReadFile("../../../docs/ci.md")
	require.NoError(t, err)
	_, example, found := strings.Cut(string(page), "```text\n")
	require.True(t, found)
	example, _, _ = strings.Cut(example, "```")
	got, err := ParsePrompts(example)
	require.NoError(t, err)
	require.Equal(t, []Prompt{
		{Text: "Write the word hello into the file hello.txt.", Expect: []Expectation{{Path: "hello.txt", Contains: "hello"}}},
		{Text: "What is in hello.txt? Answer with its content alone.", Expect: []Expectation{{Contains: "hello"}}},
	}, got)
}

func TestPromptsThatAreNone(t *testing.T) {
	for text, says := range map[string]string{
		"":                           "line 1: there is no prompt",
		"a\n---\n \n---\nb":          "line 3: there is no prompt",
		"a\n---\n":                   "line 3: there is no prompt",
		"a\n---\nexpect: b\n":        "line 3: there is no prompt",
		"a\nexpect:\n":               "line 2: an expectation of the answer needs a text",
		"a\nexpect-file: ../b\n":     `line 2: "../b" is no path below the session's directory`,
		"a\nexpect-file: /etc/b=c\n": `line 2: "/etc/b" is no path below the session's directory`,
		"a\nexpect-file: =c\n":       `line 2: "" is no path below the session's directory`,
		"a\xff":                      "it is no UTF-8 text",
	} {
		_, err := ParsePrompts(text)
		require.EqualError(t, err, says, "%q", text)
	}
}

// A line with a wrong key would go to the model, and nothing would be checked.
func TestWrongKeys(t *testing.T) {
	for line, key := range map[string]string{
		"Expect: b": "Expect", "expect : b": "expect", "expect=b": "expect", "expects: b": "expects", "expect-not: b": "expect-not",
		"Expect-File: b": "Expect-File", "expect_file: b=c": "expect_file", "expectfile: b": "expectfile",
	} {
		for _, tail := range []string{"", "\n", "\nexpect: c\n\n---\nd"} {
			_, err := ParsePrompts("a\n\n" + line + tail)
			require.EqualError(t, err, fmt.Sprintf(`line 3: the keys are "expect:" and "expect-file:", and %q is none; write \ before the line if it belongs to the prompt`, key), line)
			prompts, err := ParsePrompts("a\n\n\\" + line + tail)
			require.NoError(t, err)
			require.Equal(t, "a\n\n"+line, prompts[0].Text)
		}
	}
	_, err := ParsePrompts("a\nexpect: b\nand\nmore\nexpect: c")
	require.EqualError(t, err, `line 2: an expectation stands behind the text of its prompt; move "expect: b" there, or write \ before it if it belongs to the prompt`)
	_, err = ParsePrompts("a\nexpect" + strings.Repeat("b", 1000) + ": c")
	require.Less(t, len(err.Error()), 400)
}

// FuzzParsePrompts: what is read has texts, and nothing but expectations, separators
// and empty lines is left out.
func FuzzParsePrompts(f *testing.F) {
	f.Add("a\n---\nb\nexpect: c\n\\---\n")
	f.Fuzz(func(t *testing.T, text string) {
		prompts, err := ParsePrompts(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, prompts)
		for _, p := range prompts {
			require.NotEmpty(t, strings.TrimSpace(p.Text))
			for line := range strings.Lines(p.Text) {
				require.Contains(t, text, strings.TrimRight(line, "\n"))
			}
			for _, e := range p.Expect {
				require.True(t, e.Path != "" || e.Contains != "")
			}
		}
	})
}

func TestExpectations(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "a.txt"), []byte("one\ntwo\n"), 0o644))
	for spec, found := range map[string]string{
		"sub/a.txt":        "",
		"sub/a.txt=one\nt": "",
		"sub/a.txt=three":  "a file without it",
		"sub":              "",
		"sub=one":          "no regular file",
		"b.txt":            "no such file",
		"b.txt=x":          "no such file",
	} {
		e, err := File(spec)
		require.NoError(t, err)
		c := e.check(&PromptResult{Answer: ""}, dir)
		require.Equal(t, found, c.Found, spec)
		require.Equal(t, found == "", c.Met, spec)
	}
	e, err := Answer("hello")
	require.NoError(t, err)
	require.True(t, e.check(&PromptResult{Answer: "say hello there"}, dir).Met)
	require.Equal(t, CheckedExpectation{Contains: "hello", Found: `an answer without it: "Hello\n\u202e"`}, e.check(&PromptResult{Answer: "Hello\n\u202e \n"}, dir))
	require.Equal(t, `an answer without it: …"`+strings.Repeat("ü", 200)+`"`, e.check(&PromptResult{Answer: strings.Repeat("ü", 1000)}, dir).Found, "its end")
	require.Equal(t, CheckedExpectation{Contains: "hello", Found: "no answer"}, e.check(&PromptResult{Answer: " \n"}, dir))
}

// A symbolic link does not lead to a file outside.
func TestExpectedFileStaysInside(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a right there")
	}
	outside, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "a"), []byte("x"), 0o644))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	require.Contains(t, Expectation{Path: "link/a", Contains: "x"}.check(&PromptResult{Answer: ""}, dir).Found, "escapes")
}

func TestManyExpectations(t *testing.T) {
	const many = 300_000
	prompts, err := ParsePrompts("Do it.\nexpect: first\n" + strings.Repeat("expect: a\n", many) + "expect: last")
	require.NoError(t, err)
	require.Len(t, prompts[0].Expect, many+2)
	require.Equal(t, "first", prompts[0].Expect[0].Contains)
	require.Equal(t, "last", prompts[0].Expect[many+1].Contains)
}
