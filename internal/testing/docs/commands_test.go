package docs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"
)

// command is one command of a code block, or of code within a line.
type command struct {
	document string
	line     int
	fenced   bool
	text     string // as the shell's printer writes it
	words    [][]string
	printed  []string // the lines below it in a block of console
}

func (c command) String() string { return fmt.Sprintf("%s:%d: %s", c.document, c.line, c.text) }

// readCommands returns the commands of a document's code blocks, and those within its lines
// that call make, this program or a script.
func readCommands(d *document) (found []command, wrong []string) {
	for _, b := range d.blocks {
		text, language, printed := b.text, syntax.LangPOSIX, map[int][]string(nil)
		switch b.lang {
		case "sh":
		case "bash", "zsh":
			language = syntax.LangBash
		case "console":
			text, printed = promptedLines(text)
		case "fish", "powershell": // other grammars: each line is a command that nobody runs
			for line := range strings.Lines(text) {
				found = append(found, command{document: d.path, line: b.line, fenced: true, text: strings.TrimSpace(line)})
			}
			continue
		default:
			continue
		}
		commands, err := parseCommands(text, language)
		if err == nil && len(commands) == 0 {
			err = fmt.Errorf("a block of %s without a command (console: behind %q)", b.lang, "$ ")
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %v", d.path, b.line, err))
		}
		for _, c := range commands {
			c.printed = printed[c.line]
			c.document, c.line, c.fenced = d.path, b.line+c.line-1, true
			found = append(found, c)
		}
	}
	for _, span := range d.spans {
		if !calledPattern.MatchString(span.text) {
			continue
		}
		if commands, err := parseCommands(span.text, syntax.LangBash); err == nil {
			for _, c := range commands {
				c.document, c.line = d.path, span.line
				found = append(found, c)
			}
		}
	}
	return found, wrong
}

// calledPattern matches code within a line that is a command of this project.
var calledPattern = regexp.MustCompile(`^(?:[A-Z_]+=\S+ |sh )*(?:make|(?:\S*/)?droid-acp|\.?/?scripts/\S+)(?: |$)`)

// promptedLines are the lines behind a prompt, and those that continue them, each at its
// place. All others are output, by the line of the command above.
func promptedLines(text string) (commands string, printed map[int][]string) {
	var b strings.Builder
	printed = map[int][]string{}
	continues, above, n := false, 0, 0
	for line := range strings.Lines(text) {
		n++
		line, isCommand := strings.CutPrefix(line, "$ ")
		if isCommand {
			above = n
		}
		if isCommand || continues {
			b.WriteString(strings.TrimPrefix(line, "> "))
		} else {
			b.WriteByte('\n')
			printed[above] = append(printed[above], strings.TrimSuffix(line, "\n"))
		}
		continues = (isCommand || continues) && strings.HasSuffix(line, "\\\n")
	}
	return b.String(), printed
}

func parseCommands(text string, language syntax.LangVariant) (found []command, err error) {
	file, err := syntax.NewParser(syntax.Variant(language)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, err
	}
	for _, stmt := range file.Stmts {
		var b bytes.Buffer
		if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, stmt); err != nil {
			return nil, err
		}
		c := command{line: int(stmt.Pos().Line()), text: strings.TrimSpace(b.String())}
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				c.words = append(c.words, literals(call.Args))
			}
			return true
		})
		found = append(found, c)
	}
	return found, nil
}

// literals are words without their quotes; one that holds a variable is "$".
func literals(args []*syntax.Word) (words []string) {
	for _, arg := range args {
		word := ""
		syntax.Walk(arg, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Lit:
				word += n.Value
			case *syntax.SglQuoted:
				word += n.Value
			case *syntax.ParamExp, *syntax.CmdSubst:
				word = "$"
				return false
			}
			return true
		})
		words = append(words, word)
	}
	return words
}

// world is what commands may name.
type world struct {
	root    string
	targets []string // of the Makefile
	// help is what droid-acp prints when it is asked for help with a command, "" for all of
	// it, and whether it knows the command.
	help func(command string) (text string, known bool)
}

func newWorld(t *testing.T, help func(string) (string, bool)) world {
	t.Helper()
	w := world{root: root, help: help}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(read(t, filepath.Join(root, "Makefile")), -1) {
		w.targets = append(w.targets, m[1])
	}
	return w
}

// check returns what a command names and what does not exist.
func (w world) check(c command) (wrong []string) {
	complain := func(what string) { wrong = append(wrong, c.String()+": "+what) }
	for _, words := range c.words {
		for len(words) > 1 && slices.Contains([]string{"sudo", "env", "sh", "bash", "time", "exec"}, words[0]) {
			words = words[1:]
		}
		first := words[0]
		switch {
		case first == "make":
			w.checkMake(words[1:], complain)
		case first == "droid-acp" || strings.HasSuffix(first, "/droid-acp"):
			w.checkOwn(words[1:], complain)
		case strings.HasPrefix(strings.TrimPrefix(first, "./"), "scripts/") || strings.HasPrefix(first, ".ci/"):
			if _, err := os.Stat(filepath.Join(w.root, first)); err != nil {
				complain("there is no file " + first)
			}
		}
	}
	return wrong
}

func (w world) checkMake(args []string, complain func(string)) {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, "=…$") && arg != "TARGET" && !slices.Contains(w.targets, arg) {
			complain("make has no target " + arg)
		}
	}
}

var (
	flagPattern        = regexp.MustCompile(`^--?[a-z][a-z-]*`)
	commandNamePattern = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// checkOwn checks a command of this program and its flags.
func (w world) checkOwn(args []string, complain func(string)) {
	name := ""
	if len(args) > 0 && commandNamePattern.MatchString(args[0]) {
		name = args[0]
	}
	text, known := w.help(name)
	if !known {
		complain("droid-acp has no command " + name)
		return
	}
	for _, arg := range args {
		if arg == "--" {
			return
		}
		if flag := flagPattern.FindString(arg); flag != "" && !hasFlag(text, flag) {
			complain("droid-acp " + name + " has no flag " + flag)
		}
	}
}

// hasFlag reports whether a help text has a flag, written with one or two hyphens.
func hasFlag(text, flag string) bool {
	return regexp.MustCompile(`(^|[^\w-])--?` + strings.TrimLeft(flag, "-") + `($|[^\w-])`).MatchString(text)
}

func TestWrongCommandsAreFound(t *testing.T) {
	w := newWorld(t, func(command string) (string, bool) {
		return map[string]string{"": "--mode MODE, -v, --files-too", "smoke": "--demo --mode"}[command], command == "" || command == "smoke"
	})
	for text, wants := range map[string]int{
		"make demo": 0, "make -k demo PKG=./x": 0, "make -s test VERSION=1": 0, "make demos": 1, "cd x && make demos": 1, "if true; then make demos; fi": 1,
		"bin/droid-acp smoke --demo": 0, "droid-acp --mode spec": 0, "./bin/droid-acp -v": 0, "droid-acp 'a b'": 0, "droid-acp smoke -- --x": 0,
		"bin/droid-acp smok --demo": 1, "droid-acp smoke --demos": 1, "droid-acp --files x": 1, "echo | droid-acp --dem": 1, "A=b droid-acp --mod=x": 1,
		"sh scripts/fuzz.sh 10x": 0, "scripts/fuzz.sh": 0, "sh scripts/fuss.sh": 1, "./scripts/fuss.sh": 1, ".ci/run": 0, ".ci/walk": 1,
	} {
		found, wrong := readCommands(parseDocument("a.md", "```sh\n"+text+"\n```\n"))
		require.Empty(t, wrong, text)
		require.Len(t, found, 1, text)
		require.Len(t, w.check(found[0]), wants, text)
		if calledPattern.MatchString(text) {
			found, _ := readCommands(parseDocument("a.md", "Run `"+text+"`.\n"))
			require.Len(t, w.check(found[0]), wants, "inline %s", text)
		}
	}
}

func TestCommandsAreRead(t *testing.T) {
	texts := func(markdown string) (texts []string, wrong []string) {
		found, wrong := readCommands(parseDocument("a.md", markdown))
		for _, c := range found {
			texts = append(texts, strings.TrimSpace(fmt.Sprintf("%d %s %s", c.line, c.text, strings.Join(c.printed, "/"))))
		}
		return texts, wrong
	}
	found, wrong := texts("```sh\n# why\nmake   demo # here\ncat > a <<'END'\nmake x\nEND\na \\\n  b\n```\n`make x`, `makes`, `A=b make y`, `droid exec`\n\n" +
		"```console\n$ make demo\nmake: what?\n$ make \\\n> test\nok\nall\n```\n\n```fish\nset a b\n```\n")
	require.Empty(t, wrong)
	require.Equal(t, []string{"3 make demo", "4 cat >a <<'END'\nmake x\nEND", "7 a b", "13 make demo make: what?", "15 make test ok/all", "22 set a b", "10 make x", "10 A=b make y"}, found)
	for _, bad := range []string{"```sh\nif true\n```\n", "```console\nmake demo\n```\n", "```sh\n# nothing\n```\n", "```sh\ncat <(echo)\n```\n"} {
		_, wrong := texts(bad)
		require.Len(t, wrong, 1, bad)
	}
}
