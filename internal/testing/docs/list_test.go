package docs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// listPath is the list of all commands that documents print: what becomes of each.
const listPath = "testdata/commands.txt"

// entry is a line of the list.
type entry struct {
	line    int
	command string // with "…" at its end, the beginning of commands
	fate    string // run, make, or why nobody runs it
	exit    int    // of run
}

// readList reads the list: headings in brackets, below each its commands.
func readList(text string) (list []entry, wrong []string) {
	fate, exit := "", 0
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		complain := func(what string) { wrong = append(wrong, fmt.Sprintf("%s:%d: %s", listPath, i+1, what)) }
		line = strings.TrimSpace(line)
		heading, isHeading := strings.CutPrefix(line, "[")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case isHeading:
			fate, exit = strings.TrimSuffix(heading, "]"), 0
			if code, ok := strings.CutPrefix(fate, "run, exit "); ok {
				fate = "run"
				var err error
				if exit, err = strconv.Atoi(code); err != nil {
					complain("no exit code: " + code)
				}
			}
			if !slices.Contains([]string{"run", "make"}, fate) && len(strings.Fields(fate)) < 3 {
				complain("this is no reason: " + fate)
			}
		case fate == "" || seen[line]:
			complain("above all headings, or there twice: " + line)
		default:
			seen[line] = true
			list = append(list, entry{i + 1, line, fate, exit})
		}
	}
	return list, wrong
}

// find returns the entry of a command: the one with its very words, else the longest
// beginning.
func find(list []entry, command string) *entry {
	var best *entry
	for i, e := range list {
		begin, isBeginning := strings.CutSuffix(e.command, "…")
		switch {
		case e.command == command:
			return &list[i]
		case isBeginning && strings.HasPrefix(command, begin) && (best == nil || len(e.command) > len(best.command)):
			best = &list[i]
		}
	}
	return best
}

// checkList returns which commands have no entry, which entries no document has, and which
// are not what their heading says.
func (w world) checkList(list []entry, commands []command) (wrong []string) {
	used := map[int]bool{}
	for _, c := range commands {
		if !c.fenced {
			continue
		}
		e := find(list, oneLine(c.text))
		if e == nil {
			wrong = append(wrong, c.String()+": it is not in internal/testing/docs/"+listPath+": say there what becomes of it")
			continue
		}
		used[e.line] = true
	}
	for _, e := range list {
		complain := func(what string) {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s: %s", listPath, e.line, e.command, what))
		}
		if !used[e.line] {
			complain("no document has it")
		}
		target, isMake := strings.CutPrefix(e.command, "make ")
		if e.fate == "make" && !(isMake && slices.Contains(w.targets, strings.Fields(target)[0])) {
			complain("the Makefile has no such target")
		}
	}
	return wrong
}

// oneLine is a command as the list has it: a text that it brings along is left out.
func oneLine(text string) string {
	first, _, more := strings.Cut(text, "\n")
	if more {
		first += " …"
	}
	return first
}

func TestWrongListsAreFound(t *testing.T) {
	w := newWorld(t, nil)
	const list = "# words\n[run]\nmake demo\n\n[run, exit 2]\nfalse\n[make]\nmake test\nmake bench X=1\n[needs a login]\nlogin …\nlogin now\ncat >a <<B …\n"
	commands, wrong := readCommands(parseDocument("a.md", "```sh\nmake demo\nfalse\nmake test\nmake bench X=1\nlogin --now x\nlogin now\ncat > a <<B\nb\nB\n```\n"))
	require.Empty(t, wrong)
	check := func(list string, commands []command) []string {
		entries, wrong := readList(list)
		return append(wrong, w.checkList(entries, commands)...)
	}
	require.Empty(t, check(list, commands))
	entries, _ := readList(list)
	require.Equal(t, 2, find(entries, "false").exit)
	require.Equal(t, "needs a login", find(entries, "login now").fate)
	require.Len(t, check(list, commands[1:]), 1, "a command that no document has")
	for name, tc := range map[string][2]string{
		"a new command":      {"make demo\n", ""},
		"a command twice":    {"false\n", "false\nfalse\n"},
		"no heading":         {"# words\n", "true\n"},
		"no reason":          {"[needs a login]", "[no]"},
		"no code":            {"exit 2", "exit x"},
		"no target":          {"[run, exit 2]", "[make]"},
		"a stale command":    {"[make]\n", "true\n[make]\n"},
		"a stale beginning":  {"[make]\n", "true …\n[make]\n"},
		"no longer covered":  {"login …\n", ""},
		"no text brought":    {"cat >a <<B …\n", ""},
		"a step that begins": {"make test\n", "make tes…\n"},
	} {
		changed := strings.Replace(list, tc[0], tc[1], 1)
		require.NotEqual(t, list, changed, name)
		require.NotEmpty(t, check(changed, commands), name)
	}
}
