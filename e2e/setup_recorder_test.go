//go:build e2e && linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// recordEnv makes this test binary run the agent named by it and record the messages between a foreign client and the agent, in the
// directory recordDirEnv.
const (
	recordEnv    = "DROID_ACP_E2E_RECORD"
	recordDirEnv = "DROID_ACP_E2E_RECORD_DIR"
)

// Files of a recording. Each run of the agent has its own directory, named after its start time.
const (
	fromClient = "client.jsonl"
	fromAgent  = "agent.jsonl"
)

// record runs the agent with the arguments of this process.
func record() (int, error) {
	run := filepath.Join(os.Getenv(recordDirEnv), fmt.Sprint(time.Now().UnixNano()))
	if err := os.Mkdir(run, 0o755); err != nil {
		return 0, err
	}
	open := func(name string) (*os.File, error) { return os.Create(filepath.Join(run, name)) }
	in, err := open(fromClient)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := open(fromAgent)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	cmd := exec.Command(os.Getenv(recordEnv), os.Args[1:]...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, recordDirEnv+"=") }) // otherwise each agent has its own
	cmd.Stdin = io.TeeReader(os.Stdin, in)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, os.Stdout), os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// recording has the messages between a foreign client and the agent.
type recording struct{ dir string }

// newRecording returns a recording to be made, and the environment and the
// command of the agent that make it.
func newRecording(t *testing.T) (r recording, env []string, agent string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	r = recording{t.TempDir()}
	return r, []string{recordEnv + "=" + programs.Agent, recordDirEnv + "=" + r.dir}, self
}

// check checks each line of the agent against the schema, and against the client's declaration. It returns the number of updates.
func (r recording) check(t *testing.T) (updates int) {
	t.Helper()
	for _, run := range r.runs(t) {
		talk := acpSchema().NewConversation()
		for _, line := range wholeLines(t, filepath.Join(run, fromClient)) {
			talk.Client(line)
		}
		for _, line := range wholeLines(t, filepath.Join(run, fromAgent)) {
			var m struct{ Method string }
			require.NoError(t, json.Unmarshal(line, &m), "%s", line)
			require.NoError(t, talk.Agent(line), "%s", line)
			if m.Method == "session/update" {
				updates++
			}
		}
	}
	return updates
}

// runs returns the directories of the agent's runs, in order.
func (r recording) runs(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(r.dir, "*"))
	require.NoError(t, err)
	return dirs
}

// lines returns the lines of one side in all runs.
func (r recording) lines(t *testing.T, name string) (lines [][]byte) {
	t.Helper()
	for _, run := range r.runs(t) {
		lines = append(lines, wholeLines(t, filepath.Join(run, name))...)
	}
	return lines
}

// wholeLines returns the complete lines of a file.
func wholeLines(t *testing.T, path string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := bytes.Split(data, []byte("\n"))
	return lines[:len(lines)-1]
}

// recordMain is main of a process that records.
func recordMain() {
	code, err := record()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e recorder:", err)
		code = 1
	}
	os.Exit(code)
}
