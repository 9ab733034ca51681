package quirks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fixture"
)

// transcripts is the directory of the raw recordings, unless DROID_ACP_TRANSCRIPTS
// names another place. They are not part of the project.
var transcripts = []string{"../../../shared/field-notes/transcripts", "../../../shared/field-notes/subagents"}

// recordings calls f with each of them.
func recordings(t *testing.T, f func(path string, steps []fixture.Step)) {
	dirs := transcripts
	if dir := os.Getenv("DROID_ACP_TRANSCRIPTS"); dir != "" {
		dirs = []string{dir}
	}
	var paths []string
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, "*", "*.jsonl"))
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		t.Skip("no recordings; set DROID_ACP_TRANSCRIPTS to their directory")
	}
	for _, path := range paths {
		if strings.Contains(path, "two_processes") {
			continue // two droids in one file that cannot be distinguished
		}
		if strings.Contains(path, ".child") {
			continue // the file of a subagent
		}
		steps, err := fixture.ReadRecording(path)
		require.NoError(t, err)
		f(path, steps)
	}
}

func TestRecordings(t *testing.T) {
	turns := 0
	recordings(t, func(path string, steps []fixture.Step) {
		for _, run := range runs(steps) {
			turns += playRecording(t, path, run)
		}
	})
	require.Greater(t, turns, 400)
}

// runs cuts a recording where a droid was started.
func runs(steps []fixture.Step) [][]fixture.Step {
	var all [][]fixture.Step
	start := 0
	for i, s := range steps {
		if s.Dir == fixture.Note && strings.Contains(s.Note, `"event":"spawn"`) && i > start {
			all = append(all, steps[start:i])
			start = i
		}
	}
	return append(all, steps[start:])
}

// playRecording returns the number of turns.
func playRecording(t *testing.T, path string, steps []fixture.Step) int {
	t.Helper()
	p := newPlayer(stream.Version{})
	p.files = subagentFiles(t, path)
	var snapshots []stream.Message
	var reasons []string // as droid gave them
	lossy := false
	for _, s := range steps {
		if s.Msg != nil && s.Msg[0] != '{' {
			lossy = true // a line that was no JSON, or was too long to keep
			continue
		}
		if s.Dir == fixture.FromDroid {
			l, err := new(stream.Decoder).Decode(s.Msg, false)
			require.NoError(t, err, path)
			switch ev := l.Event.(type) {
			case stream.MessageCreated:
				if ev.Message.Role == stream.RoleAssistant && ev.Message.Visibility != stream.VisibilityLLMOnly {
					snapshots = append(snapshots, ev.Message)
				}
			case stream.TurnCompleted:
				if ev.Reason != stream.ReasonSpecHandoff && !strings.HasPrefix(ev.TurnID, reportIDPrefix) {
					reasons = append(reasons, ev.Reason)
				}
			}
		}
		require.NoError(t, p.step(s), path)
	}
	end := steps[len(steps)-1].At
	p.settle()
	p.got(p.n.DroidExited(p.start.Add(end)))
	p.check.over()
	for _, m := range snapshots {
		p.check.snapshot(m)
	}
	require.NoError(t, p.check.err, path)
	if lossy {
		return 0
	}
	return checkEndings(t, path, p.events, reasons)
}

// subagentFiles are the files of a recording's subagents, by their ids.
func subagentFiles(t *testing.T, path string) map[string][]byte {
	files := map[string][]byte{}
	paths, err := filepath.Glob(strings.TrimSuffix(path, ".jsonl") + ".child*.jsonl")
	require.NoError(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		files[childLines(data)[0].ID] = data
	}
	return files
}

// checkEndings compares the ends of turns with droid's reports of them.
func checkEndings(t *testing.T, path string, events []Event, reasons []string) int {
	t.Helper()
	turns, unfinished := 0, 0
	var got []string
	for _, ev := range events {
		switch ev := ev.(type) {
		case ToolEnded:
			if ev.Unfinished {
				unfinished++
			}
		case TurnEnded:
			turns++
			if ev.Reason != "" && ev.Reason != stream.ReasonProcessExit {
				got = append(got, ev.Reason)
			}
			if ev.Outcome == Completed {
				require.Zero(t, unfinished, "%s: turn completed with unfinished tools", path)
			}
			unfinished = 0
		}
	}
	var want []string
	for _, r := range reasons {
		if r != stream.ReasonProcessExit { // Exited gives that reason too
			want = append(want, r)
		}
	}
	require.Equal(t, want, got, path)
	return turns
}
