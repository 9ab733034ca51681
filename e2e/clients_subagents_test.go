//go:build e2e && linux

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// subagentsEnv makes this test binary a scripted droid whose subagents ask for permission: real ones need a login.
const subagentsEnv = "DROID_ACP_E2E_SUBAGENTS"

// playSubagents runs that droid as a program. A subagent works in the background if the prompt says "background".
func playSubagents() error {
	store := filepath.Join(os.Getenv("HOME"), ".factory", "sessions")
	return fakedroid.Run(os.Stdin, os.Stdout, func(d *fakedroid.Droid) error {
		for {
			p, err := d.AwaitPrompt()
			if err != nil {
				return err
			}
			s := d.NewSubagent("look", store)
			works := func() error { return subagentWorks(d, s) }
			if strings.Contains(p.Text, "background") {
				if err = d.Turn(p, func() error { return d.Task("On it. ", nil, s) }); err == nil {
					err = works()
				}
				if err == nil {
					err = d.Report(s, "completed", "found it", func() error { return d.Say("", "So it is.") })
				}
			} else {
				err = d.Turn(p, func() error {
					if err := d.Task("On it. ", works, s); err != nil {
						return err
					}
					return d.Say("", "So it is.")
				})
			}
			if err != nil {
				return err
			}
		}
	}, fakedroid.WithVersion(fakedroid.V0225))
}

func subagentWorks(d *fakedroid.Droid, s *fakedroid.Subagent) error {
	tool := fakedroid.Tool{
		ID: "t1", Name: "Execute", Input: fakedroid.Fields{"command": "touch a"}, Confirmation: "exec", Impact: "medium",
		Details: fakedroid.Fields{"fullCommand": "touch a", "impactLevel": "medium"}, Result: "done",
	}
	if err := s.Write(s.Calls("Let me do that. ", tool)); err != nil {
		return err
	}
	id, err := d.Asks(s, tool)
	if err != nil {
		return err
	}
	if _, err := d.Answered(id, tool); err != nil {
		return err
	}
	return s.Write(s.Result(tool), s.Answer("found it"), s.Outcome("completed"))
}

// TestClientSubagentSessions: a client that checks each message by ACP's schema shows subagents that ask as sessions, one that droid waits
// for and one in the background, and both again after a load.
func TestClientSubagentSessions(t *testing.T) {
	h := newHome(t, newDroid, "")
	droid, err := os.Executable()
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	c := exec.Command(programs.Node, filepath.Join(programs.Clients, "subagents.mjs"), programs.Agent, "--droid", droid)
	c.Dir, c.Stdout, c.Stderr = h.work, &stdout, &stderr
	c.Env = append(h.env, subagentsEnv+"=1")
	require.NoError(t, c.Start())
	timer := time.AfterFunc(turnLimit, func() { _ = c.Process.Kill() })
	defer timer.Stop()
	require.NoError(t, c.Wait(), "%s\n%s", &stdout, &stderr)
	require.Empty(t, stderr.String())
	t.Logf("\n%s", &stdout)
	blocks := strings.Split(stdout.String(), "-- ")
	require.Len(t, blocks, 4)
	for i, lines := range [][]string{
		{"droid has 1 worker look running", "1 is sent look", "droid has 1 requires_action", "1 asks touch a", "droid has 1 running", "1 agent found it", "droid has 1 idle end_turn", "droid agent So it is.", "stop end_turn"},
		{"droid has 2 worker look running", "2 is sent look", "stop end_turn", "2 agent found it", "droid has 2 idle end_turn"},
		{"droid has 1 worker look running", "1 agent found it", "droid has 1 idle end_turn", "droid has 2 worker look running", "2 agent found it", "droid has 2 idle end_turn", "loaded"},
	} {
		rest := joinChunks(blocks[i+1])
		for _, line := range lines {
			_, behind, found := strings.Cut(rest, line+"\n")
			require.True(t, found, "%q in this order:\n%s", line, &stdout)
			rest = behind
		}
	}
	require.NotContains(t, stdout.String(), "UNKNOWN")
}

// joinChunks makes one line of consecutive chunks of a message: how many there are depends on how fast the client reads.
func joinChunks(shown string) string {
	var joined []string
	speaker := ""
	for line := range strings.Lines(shown) {
		who, text, is := strings.Cut(line, " agent ")
		if last := len(joined) - 1; is && who == speaker {
			joined[last] = strings.TrimSuffix(joined[last], "\n") + " " + text
			continue
		}
		if speaker = ""; is {
			speaker = who
		}
		joined = append(joined, line)
	}
	return strings.Join(joined, "")
}
