package docs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"
)

// command is one command of a code block, or of code within a line.
type command struct {
	at      string // document:line
	fenced  bool
	text    string // as the shell's printer writes it
	words   [][]string
	printed []string // the lines below it in a block of console
}

// calledPattern matches code within a line that is a command of this project.
var calledPattern = regexp.MustCompile(`^(?:[A-Z_]+=\S+ |sh )*(?:make|(?:\S*/)?droid-acp|\.?/?scripts/\S+)(?: |$)`)

// readCommands returns the commands of a document's code blocks, and those within its lines
// that call make, this program or a script.
func readCommands(d *document) (found []command, wrong []string) {
	for _, b := range d.blocks {
		text, printed := b.text, map[uint][]string(nil)
		switch b.lang {
		case "sh":
		case "console":
			text, printed = promptedLines(text)
		default:
			continue
		}
		commands, err := parseCommands(text, d.path, b.line, printed)
		if err == nil && len(commands) == 0 {
			err = fmt.Errorf("a block of %s without a command (console: behind %q)", b.lang, "$ ")
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %v", d.path, b.line, err))
		}
		for _, c := range commands {
			c.fenced = true
			found = append(found, c)
		}
	}
	for _, span := range d.spans {
		if calledPattern.MatchString(span.text) {
			commands, _ := parseCommands(span.text, d.path, span.line, nil) // with a "…" in it, it is none
			found = append(found, commands...)
		}
	}
	return found, wrong
}

// promptedLines are the lines behind a prompt, each at its place. All others are output, by the
// line of the command above.
func promptedLines(text string) (commands string, printed map[uint][]string) {
	printed = map[uint][]string{}
	above := uint(0)
	for i, line := range strings.Split(text, "\n") {
		line, isCommand := strings.CutPrefix(line, "$ ")
		if isCommand {
			above = uint(i + 1)
			commands += line
		} else if line != "" {
			printed[above] = append(printed[above], line)
		}
		commands += "\n"
	}
	return commands, printed
}

func parseCommands(text, document string, line int, printed map[uint][]string) (found []command, err error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, err
	}
	for _, stmt := range file.Stmts {
		var b bytes.Buffer
		if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, stmt); err != nil {
			return nil, err
		}
		at := stmt.Pos().Line()
		c := command{at: fmt.Sprintf("%s:%d", document, line+int(at)-1), text: strings.TrimSpace(b.String()), printed: printed[at]}
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				var words []string
				for _, arg := range call.Args {
					words = append(words, literal(arg))
				}
				c.words = append(c.words, words)
			}
			return true
		})
		found = append(found, c)
	}
	return found, nil
}

// literal is a word without its quotes.
func literal(arg *syntax.Word) string {
	var b strings.Builder
	_ = syntax.NewPrinter().Print(&b, arg) // a Builder takes all
	return strings.Trim(b.String(), `'"`)
}

var (
	flagPattern        = regexp.MustCompile(`^--?[a-z][a-z-]*`)
	commandNamePattern = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// check returns the names in a command, and those that do not exist. helps is the output of droid-acp's help for each command, "" for the
// whole.
func (c command) check(makefile string, helps map[string]string) (wrong []string) {
	for _, words := range c.words {
		for len(words) > 1 && slices.Contains([]string{"sudo", "env", "sh", "bash", "time", "exec"}, words[0]) {
			words = words[1:]
		}
		first, args := words[0], words[1:]
		switch {
		case first == "make":
			for _, arg := range args {
				if commandNamePattern.MatchString(arg) && !strings.Contains(makefile, "\n"+arg+":") {
					wrong = append(wrong, "make has no target "+arg)
				}
			}
		case first == "droid-acp" || strings.HasSuffix(first, "/droid-acp"):
			name := ""
			if len(args) > 0 && commandNamePattern.MatchString(args[0]) {
				name = args[0]
			}
			text, known := helps[name]
			if !known {
				wrong = append(wrong, "droid-acp has no command "+name)
				continue
			}
			if name == "trust" && first == "bin/droid-acp" {
				wrong = append(wrong, "it is run in the user's project, where "+first+" is not: write "+printedPath)
			}
			if end := slices.Index(args, "--"); end >= 0 {
				args = args[:end]
			}
			for _, arg := range args {
				if flag := flagPattern.FindString(arg); flag != "" && !hasFlag(text, flag) {
					wrong = append(wrong, "droid-acp "+name+" has no flag "+flag)
				}
			}
		case strings.HasPrefix(strings.TrimPrefix(first, "./"), "scripts/") || strings.HasPrefix(first, ".ci/"):
			if _, err := os.Stat(filepath.Join(root, first)); err != nil {
				wrong = append(wrong, "there is no file "+first)
			}
		}
	}
	for i := range wrong {
		wrong[i] = c.at + ": " + c.text + ": " + wrong[i]
	}
	return wrong
}

// hasFlag reports whether a help text has a flag, written with one or two hyphens.
func hasFlag(text, flag string) bool {
	return regexp.MustCompile(`(^|[^\w-])--?` + strings.TrimLeft(flag, "-") + `($|[^\w-])`).MatchString(text)
}

// fate says whether a command of the list is run, and its exit code.
type fate struct {
	run  bool
	exit int
}

// readList reads testdata/commands.txt: headings in brackets, below each its commands.
func readList(text string) map[string]fate {
	list, current := map[string]fate{}, fate{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		heading, isHeading := strings.CutPrefix(line, "[")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case isHeading:
			code, runs := strings.CutPrefix(strings.TrimSuffix(heading, "]"), "run")
			current = fate{run: runs}
			current.exit, _ = strconv.Atoi(strings.TrimPrefix(code, ", exit "))
		default:
			list[line] = current
		}
	}
	return list
}

// checkList returns which commands the list does not have, and which no document has.
func checkList(list map[string]fate, commands []command) (wrong []string) {
	used := map[string]bool{}
	for _, c := range commands {
		used[c.text] = used[c.text] || c.fenced
		if _, known := list[c.text]; c.fenced && !known {
			wrong = append(wrong, c.at+": "+c.text+": it is not in internal/testing/docs/testdata/commands.txt: say there what becomes of it")
		}
	}
	for text := range list {
		if !used[text] {
			wrong = append(wrong, "testdata/commands.txt: "+text+": no document has it")
		}
	}
	return wrong
}

func TestWrongCommandsAreFound(t *testing.T) {
	helps := map[string]string{"": "--mode MODE, -v, --files-too", "smoke": "--demo --mode", "trust": ""}
	for text, wants := range map[string]int{
		"make demo": 0, "make -k demo PKG=./x": 0, "make demos": 1, "cd x && make demos": 1, "if true; then make demos; fi": 1,
		"bin/droid-acp smoke --demo": 0, "droid-acp --mode spec": 0, "droid-acp 'a b'": 0, "/path/to/droid-acp trust": 0, "bin/droid-acp trust": 1, "droid-acp smoke -- --x": 0, "./bin/droid-acp -v": 0,
		"bin/droid-acp smok --demo": 1, "droid-acp smoke --demos": 1, "droid-acp --files x": 1, "echo | droid-acp --dem": 1, "A=b droid-acp --mod=x": 1,
		"sh scripts/fuzz.sh 10x": 0, "sh scripts/fuss.sh": 1, "./scripts/fuss.sh": 1, ".ci/run": 0, ".ci/walk": 1,
	} {
		found, wrong := readCommands(parseDocument("a.md", "```sh\n"+text+"\n```\n"))
		require.Empty(t, wrong, text)
		require.Len(t, found, 1, text)
		require.Len(t, found[0].check("\ndemo:", helps), wants, text)
		require.Len(t, checkList(map[string]fate{"stale": {}}, found), 2)
		require.Empty(t, checkList(map[string]fate{found[0].text: {}}, found))
	}
	for _, bad := range []string{"```sh\nif true\n```\n", "```console\nmake demo\n```\n", "```sh\n# nothing\n```\n"} {
		_, wrong := readCommands(parseDocument("a.md", bad))
		require.Len(t, wrong, 1, bad)
	}
	found, _ := readCommands(parseDocument("a.md", "```console\n$ make demo\nmake: what?\n$ make test\nok\nall\n```\n`make x`, `makes`\n"))
	require.Len(t, found, 3)
	require.Equal(t, command{at: "a.md:4", fenced: true, text: "make test", words: [][]string{{"make", "test"}}, printed: []string{"ok", "all"}}, found[1])
	require.Equal(t, map[string]fate{"a": {run: true}, "b": {run: true, exit: 2}, "c d": {}}, readList("# x\n[run]\na\n[run, exit 2]\nb\n[why not]\n\nc d\n"))
}
