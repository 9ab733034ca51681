package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// reports are droid's reports of a growing output: the whole of it, at most the
// last size bytes, or its last two lines when size is 0.
func reports(lines []string, size int) []stream.ProgressUpdate {
	var out []stream.ProgressUpdate
	for i := range lines {
		whole := strings.Join(lines[:i+1], "\n") + "\n"
		update := stream.ProgressUpdate{Type: "status"}
		if size > 0 {
			update.FullOutput = whole[max(0, len(whole)-size):]
		} else {
			update.Text = "\n" + lines[i]
			if i > 0 {
				update.Text = lines[i-1] + "\n" + lines[i]
			}
		}
		out = append(out, update)
	}
	return out
}

func numbered(n int) []string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("line number %d", i+1))
	}
	return lines
}

func TestOutputGrowsToTheResult(t *testing.T) {
	many := numbered(2000)
	shortened := strings.Join(many[:30], "\n") + "\n[... 1940 lines skipped ...]\n" + strings.Join(many[1970:], "\n") + "\n"
	for _, tc := range []struct {
		name   string
		pushed []stream.ProgressUpdate
		result string
	}{
		{"cumulative", reports(numbered(9), 8000), strings.Join(numbered(9), "\n") + "\n"},
		{"more than the window", reports(numbered(1000), 300), strings.Join(numbered(1000), "\n") + "\n"},
		{"more in the result", reports(numbered(3), 8000), strings.Join(numbered(9), "\n") + "\n"},
		{"two lines", reports(numbered(9), 0), strings.Join(numbered(9), "\n") + "\n"},
		{"two lines, some unreported", append(reports(numbered(3), 0), reports(numbered(9), 0)[6:]...), strings.Join(numbered(9), "\n") + "\n"},
		{"a line that grows", []stream.ProgressUpdate{{Text: "\n1"}, {Text: "\n12"}, {Text: "12\na"}, {Text: "12\nabc"}}, "12\nabcd"},
		{"nothing reported", nil, "done\n"},
		{"a result that droid shortened", reports(many, 3000), shortened},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var o commandOutput
			shown := ""
			for _, u := range tc.pushed {
				shown += o.push(u)
			}
			rest, ok := o.rest(tc.result)
			require.True(t, ok)
			if tc.result == shortened {
				require.Equal(t, strings.Join(many, "\n")+"\n", shown+rest, "the window was told in full")
				return
			}
			require.Equal(t, tc.result, shown+rest)
		})
	}
	var o commandOutput
	o.push(stream.ProgressUpdate{FullOutput: "one\n\n"})
	rest, ok := o.rest("one\n")
	require.True(t, ok, "it ended while droid took its result")
	require.Empty(t, rest)
}

// If droid did not report the output in between, a message says so, and the result replaces the shown output.
func TestOutputWithAGap(t *testing.T) {
	for name, pushed := range map[string][]stream.ProgressUpdate{
		"windows":       {{FullOutput: strings.Join(numbered(9), "\n")}, {FullOutput: "far away\nand more"}},
		"repeated line": {{Text: "\nok"}, {Text: "ok\nok"}, {Text: "ok\nlast"}},
	} {
		t.Run(name, func(t *testing.T) {
			var o commandOutput
			for _, u := range pushed {
				o.push(u)
			}
			rest, ok := o.rest("ok\nok\nok\nlast\n")
			require.False(t, ok)
			require.Empty(t, rest)
		})
	}
	var o commandOutput
	o.push(stream.ProgressUpdate{Text: "a\nb"})
	require.Equal(t, "[…]\na\nb", o.shown())
	rest, ok := o.rest("x\na\nb\n")
	require.True(t, ok, "what is kept apart is not in the terminal")
	require.Equal(t, "x\na\nb\n", rest)
}

func TestOutputIsBounded(t *testing.T) {
	var o commandOutput
	line := strings.Repeat("é", 500) + "\n"
	for i := range 400 {
		o.push(stream.ProgressUpdate{FullOutput: strings.Repeat(line, i+1)[max(0, (i+1)*len(line)-8000):]})
		o.push(stream.ProgressUpdate{FullOutput: fmt.Sprint(i) + line})
	}
	require.LessOrEqual(t, len(o.text), maxOutput)
	require.True(t, o.cut)
}

func TestParseCommandResult(t *testing.T) {
	zero, three := 0, 3
	for _, tc := range []struct {
		text string
		want CommandResult
	}{
		{"line1\nline2\n\n\n[Process exited with code 0]", CommandResult{Output: "line1\nline2\n", Exit: &zero}},
		{"Command completed successfully\n\n[Process exited with code 0]", CommandResult{Note: "Command completed successfully", Exit: &zero}},
		{"Error: Command failed (exit code: 3)\nout\nerr\n\n\n[Process exited with code 3]", CommandResult{Output: "out\nerr\n", Exit: &three}},
		{"Command timed out after 3 seconds. Consider more.\n\nPartial output before timeout:\nbegin",
			CommandResult{Output: "begin", Note: "Command timed out after 3 seconds. Consider more.", TimedOut: true}},
		{"Command timed out after 3 seconds.", CommandResult{Note: "Command timed out after 3 seconds.", TimedOut: true}},
		{"Command timed out after lunch\n\n\n[Process exited with code 0]", CommandResult{Output: "Command timed out after lunch\n", Exit: &zero}},
		{"Error: Tool execution cancelled by user", CommandResult{Note: "Error: Tool execution cancelled by user"}},
		{"1\n[... 9 lines skipped ...]\n11\n\nFull command output saved to: /tmp/x (1.2MB)\n\n[Process exited with code 0]",
			CommandResult{Output: "1\n[... 9 lines skipped ...]\n11\n", Note: "Full command output saved to: /tmp/x (1.2MB)", Exit: &zero}},
		{"[Process exited with code 0]", CommandResult{Exit: &zero}},
		{"it said [Process exited with code 7]", CommandResult{Output: "it said [Process exited with code 7]"}},
		{"", CommandResult{}},
	} {
		require.Equal(t, tc.want, parseCommandResult(tc.text), tc.text)
	}
}

func FuzzOutput(f *testing.F) {
	f.Add("a\nb", "b\nc", "a\nb\nc")
	f.Add("", "\nx", "x\n\n[Process exited with code 1]")
	f.Fuzz(func(t *testing.T, first, second, result string) {
		for _, full := range []bool{true, false} {
			var o commandOutput
			shown := ""
			for _, text := range []string{first, second} {
				u := stream.ProgressUpdate{Text: text}
				if full {
					u = stream.ProgressUpdate{FullOutput: text}
				}
				shown += o.push(u)
			}
			rest, ok := o.rest(result)
			if ok && !strings.HasPrefix(shown, strings.TrimRight(result, "\n")) && outputGap().FindString(result) == "" {
				require.Equal(t, result, shown+rest)
			}
			_ = parseCommandResult(result)
		}
	})
}

// No more is kept than that, to the byte.
func TestOutputKeptIsBounded(t *testing.T) {
	var o commandOutput
	o.add(strings.Repeat("x", maxOutput))
	require.False(t, o.cut)
	require.Len(t, o.text, maxOutput)
	o.add("y")
	require.True(t, o.cut)
	require.Len(t, o.text, maxOutput)
}

// Windows are neighbours when they share 16 bytes, or the whole of the shorter one.
func TestOverlap(t *testing.T) {
	const common = "0123456789abcdef"
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"x" + common, common + "y", len(common)},
		{"x" + common[1:], common[1:] + "y", 0},
		{"x" + common + "z", common + "y", 0},
		{"x\n", "x\ny", 2},
		{"ax", "x", 1},
		{"a", "b", 0},
		{"", "b", 0},
		{"a", "", 0},
	} {
		require.Equal(t, tc.want, overlap(tc.a, tc.b), "%q %q", tc.a, tc.b)
	}
}

// Last lines of which it is not known what lies before them give way to newer ones.
func TestLastLinesAreTheNewest(t *testing.T) {
	var o commandOutput
	require.Empty(t, o.push(stream.ProgressUpdate{Text: "a\nb"}))
	require.Empty(t, o.push(stream.ProgressUpdate{Text: "c\nd"}))
	require.Equal(t, "[…]\nc\nd", o.shown())
}

// An exit code is on a separate line; anything else is output of the command.
func TestExitCodeIsALine(t *testing.T) {
	require.Nil(t, parseCommandResult("x[Process exited with code 1]").Exit)
	require.Nil(t, parseCommandResult("[Process exited with code x]").Exit)
	require.Nil(t, parseCommandResult("[Process exited with code 1] and more").Exit)
	require.Equal(t, 1, *parseCommandResult("[Process exited with code 1]").Exit)
	require.Equal(t, 7, *parseCommandResult("x\n[Process exited with code 7]\n").Exit)
}
