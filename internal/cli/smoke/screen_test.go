package smoke

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// screenText is a terminal of 200 rows.
type screenText struct {
	columns int

	mu      sync.Mutex
	written bytes.Buffer
}

func (s *screenText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written.Write(p)
}

func (s *screenText) size() (int, int) { return s.columns, 200 }

var (
	controlSequence = regexp.MustCompile("^\x1b\\[([0-9;?]*)([A-Za-z])")
	linefeeds       = regexp.MustCompile(`\n+$`)
)

// String returns the rows, without spaces at their ends.
func (s *screenText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, x, y := [][]rune{{}}, 0, 0
	for text := s.written.String(); text != ""; {
		if m := controlSequence.FindStringSubmatch(text); m != nil {
			n := 1
			if m[1] != "" {
				n, _ = strconv.Atoi(m[1])
			}
			switch m[2] {
			case "A":
				y -= n
			case "B":
				y += n
			case "C":
				x += n
			case "D":
				x -= n
			case "K":
				rows[y] = rows[y][:min(x, len(rows[y]))]
			}
			text = text[len(m[0]):]
			continue
		}
		r := []rune(text[:min(len(text), 4)])[0]
		text = text[len(string(r)):]
		switch r {
		case '\r':
			x = 0
			continue
		case '\n':
			y++
		default:
			if x == s.columns {
				x, y = 0, y+1
			}
		}
		for len(rows) <= y {
			rows = append(rows, nil)
		}
		if r == '\n' {
			continue
		}
		for len(rows[y]) <= x {
			rows[y] = append(rows[y], ' ')
		}
		rows[y][x] = r
		x++
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = strings.TrimRight(string(row), " ")
	}
	return linefeeds.ReplaceAllString(strings.Join(lines, "\n"), "\n")
}

// press presses keys, each when the one before has done what it does.
func press(t *testing.T, to io.Writer, keys ...string) {
	t.Helper()
	for _, key := range keys {
		_, err := io.WriteString(to, key)
		require.NoError(t, err)
		synctest.Wait()
	}
}

// enters types a line.
func enters(t *testing.T, to io.Writer, line string) {
	t.Helper()
	press(t, to, append(strings.Split(line, ""), "\r")...)
}

// A line is a prompt with what was typed and pasted. Pasted lines do not end it, and control characters in them do
// nothing.
func TestLines(t *testing.T) {
	for _, row := range []struct {
		name  string
		keys  []string
		want  string
		typed bool
	}{
		{"typed", []string{"a", "b", "\r"}, "ab", true},
		{"letters in pieces", []string{"\xc3", "\xa9", "\r"}, "é", true},
		{"two keys at once", []string{"1\r"}, "1", false},
		{"two lines at once", []string{"a\rb", "\x15", "\r"}, "a", false},
		{"pasted", []string{pasteBegin + "1" + pasteEnd, "\r"}, "1", false},
		{"pasted in pieces", []string{"\x1b", "[200~", "1", "\x1b[201", "~", "\r"}, "1", false},
		{"pasted lines", []string{"x", pasteBegin + "1\r2\n3\r\n\t4" + pasteEnd, "\r"}, "x1\n2\n3\n\t4", false},
		{"pasted controls", []string{pasteBegin + "a\x03\x04\x1b[31mb\x7f\u009b" + pasteEnd, "\r"}, "a[31mb", false},
		{"a pasted half of a sequence", []string{pasteBegin + "a\x1b[" + pasteEnd, "\r"}, "a[", false},
		{"another", []string{pasteBegin + "a\x1bO" + pasteEnd, "\r"}, "aO", false},
		{"pasted escapes in pieces", []string{pasteBegin + "a\x1b", "[20", "0~\x1b", "\x1b[201~", "\r"}, "a[200~", false},
		{"a sequence in a sequence", []string{"a", "\x1b[1\x1b[D", "b", "\x1bO\x1b[D", "c", "\r"}, "cba", false},
		{"a paste that does not end", []string{pasteBegin + "a", "\x03", "b", "\r"}, "b", true},
		{"Alt-Enter and Ctrl-J", []string{"a", "\x1b\r", "b", "\n", "c", "\r"}, "a\nb\nc", true},
		{"editing", []string{"a", "c", "\x1b[D", "b", "\x1b[1~", "x", "\x1bOF", "d", "\x7f", "\r"}, "xabc", true},
		{"keys that do nothing", []string{"a", "\x1b[15~", "\x1b[?1;2c", "\x1bOP", "\x00", "\t", "\r"}, "a", true},
		{"anew", []string{pasteBegin + "ab" + pasteEnd, "\x02", "\x15", "1", "\r"}, "1", true},
		{"an escape alone", []string{"\x1b", "a", "\r"}, "a", false},
		{"what is no character", []string{"a", "\xff", "b", "\r"}, "a?b", true},
		{"long", []string{pasteBegin + strings.Repeat("x", 10000) + pasteEnd, "\r"}, strings.Repeat("x", 10000), false},
		{"history", []string{"a", "\r", "2", "\r", "\x1b[A", "\x1b[A", "\r"}, "a", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			in, typed := io.Pipe()
			defer typed.Close()
			go func() {
				for _, key := range row.keys {
					_, _ = io.WriteString(typed, key) // the test may be over
				}
			}()
			w := &screenText{columns: 80}
			s := newScreen(Terminal{in, w.size}, w, &keyReader{current: func() *pendingQuestion { return nil }, interrupt: func() {}, other: func() {}})
			line, how, err := s.line()
			if row.name == "history" {
				_, _, err = s.line()
				require.NoError(t, err)
				line, how, err = s.line()
			}
			require.NoError(t, err)
			require.Equal(t, row.want, line)
			require.Equal(t, row.typed, how.typed)
			require.NoError(t, in.Close())
		})
	}
}

// A row that is too long goes on behind the margin, at a word where it can.
func TestRowsAreBroken(t *testing.T) {
	w := &screenText{columns: 31}
	v := viewer{w: w, colour: true, columns: func() int { return 30 }}
	old, text := "a\n", "a\n"+strings.Repeat(" ", 17)+"answer  | Yes\n漢字漢字漢字漢字漢字漢字\n\tx\n"
	v.toolCall(toolUpdate{ToolCallID: "t", Title: "Edit", Status: "pending", Content: contents{{Type: "diff", Path: "/f", OldText: &old, NewText: &text}}})
	v.chunk("agent", "one word after the")
	v.chunk("agent", " other and itsendismuchlongerthanarow")
	v.end()
	shown := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(w.written.String(), "")
	require.Equal(t, `tool    | Edit [pending]
        |   --- /f
        |   +++ /f
        |   @@ -1 +1,4 @@
        |    a
        |   +`+strings.Repeat(" ", 17)+`
        | answer  | Yes
        |   +漢字漢字漢字漢字
        | 漢字漢字
        |   +	x
agent   | one word after the`+" "+`
        | other and`+" "+`
        | itsendismuchlongerth
        | anarow
`, shown)
}
