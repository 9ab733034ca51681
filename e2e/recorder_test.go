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
	"testing"

	"github.com/stretchr/testify/require"
)

// recordEnv makes this test binary run the agent that it names and keep what
// passes between a foreign client and the agent, in the directory recordDirEnv.
const (
	recordEnv    = "DROID_ACP_E2E_RECORD"
	recordDirEnv = "DROID_ACP_E2E_RECORD_DIR"
)

// Files of a record; the client may run the agent more than once.
const (
	fromClient = "client.jsonl"
	fromAgent  = "agent.jsonl"
)

// record runs the agent with the arguments of this process.
func record() (int, error) {
	open := func(name string) (*os.File, error) {
		return os.OpenFile(filepath.Join(os.Getenv(recordDirEnv), name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	}
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
	cmd.Stdin = io.TeeReader(os.Stdin, in)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, os.Stdout), os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// recording is what a foreign client and the agent said to each other in one
// run of the agent.
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

// check holds each line of the agent against the schema, and against what the client
// declared. It returns how many updates there were.
func (r recording) check(t *testing.T) (updates int) {
	t.Helper()
	talk := acpSchema().NewConversation()
	for _, line := range r.lines(t, fromClient) {
		talk.Client(line)
	}
	for _, line := range r.lines(t, fromAgent) {
		var m struct{ Method string }
		require.NoError(t, json.Unmarshal(line, &m), "%s", line)
		require.NoError(t, talk.Agent(line), "%s", line)
		if m.Method == "session/update" {
			updates++
		}
	}
	return updates
}

// lines are the whole lines of a file of the recording.
func (r recording) lines(t *testing.T, name string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	require.NoError(t, err)
	lines := bytes.Split(data, []byte("\n"))
	return lines[:len(lines)-1]
}

// checkShown holds the agent's updates and permission requests that smoke --json
// has shown against the schema. It returns how many there were.
func checkShown(t *testing.T, shown []byte) int {
	t.Helper()
	n, talk := 0, acpSchema().NewConversation() // smoke declares no capability
	for line := range bytes.Lines(shown) {
		var m struct{ Method string }
		if json.Unmarshal(line, &m) != nil || (m.Method != "session/update" && m.Method != "session/request_permission") {
			continue
		}
		require.NoError(t, talk.Agent(line), "%s", line)
		n++
	}
	return n
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
