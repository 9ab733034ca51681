package fakedroid

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fixture"
)

// recordings is the folder of the raw recordings, which are not part of the
// project.
const recordings = "../../../../shared/field-notes/transcripts"

func steps(lines ...string) []fixture.Step {
	var out []fixture.Step
	for _, l := range lines {
		s := fixture.Step{Dir: fixture.Dir(l[0])}
		if s.Dir == fixture.Note || s.Dir == fixture.Stderr {
			s.Note = l[2:]
		} else {
			s.Msg = json.RawMessage(l[2:])
		}
		out = append(out, s)
	}
	return out
}

func TestReplayTranslatesIDs(t *testing.T) {
	const head = `{"jsonrpc":"2.0","factoryApiVersion":"1.0.0",`
	c := start(t, Replay(steps(
		`> `+head+`"type":"request","id":"7","method":"droid.initialize_session","params":{}}`,
		`< `+head+`"type":"response","id":"7","result":{}}`,
		`> `+head+`"type":"request","id":"8","method":"droid.add_user_message","params":{}}`,
		`< `+head+`"type":"response","id":"8","result":{}}`,
		`< `+head+`"type":"notification","method":"droid.session_notification","params":{"notification":{"type":"create_message","message":{"role":"user"},"requestId":"8"}}}`,
		`< `+head+`"type":"request","id":"perm","method":"droid.request_permission","params":{}}`,
		`> `+head+`"type":"response","id":"perm","result":{}}`,
		`< `+head+`"type":"notification","method":"droid.session_notification","params":{"notification":{"type":"droid_working_state_changed","newState":"idle"}}}`,
	)))
	c.ids = 41
	first := c.request("initialize_session", Fields{})
	require.Equal(t, first, *c.next().ID)
	c.request("interrupt_session", Fields{}) // not in the recording, but answered
	require.Equal(t, "43", *c.next().ID)
	second := c.request("add_user_message", Fields{"text": "other text"})
	require.Equal(t, second, *c.next().ID)
	require.Equal(t, second, c.next().Params.Notification["requestId"])
	ask := c.next()
	require.Equal(t, "perm", *ask.ID)
	c.answer(ask, "cancel")
	require.Equal(t, "S:idle", c.next().name())
	require.NoError(t, c.finish())
}

func TestReplayWaitsForTheClientToClose(t *testing.T) {
	line := `< {"type":"notification","params":{"notification":{"type":"droid_working_state_changed","newState":"idle"}}}`
	c := start(t, Replay(steps(`! stdin end`, line, `! exit`)))
	require.NoError(t, c.in.Close())
	require.Equal(t, "S:idle", c.next().name())
	require.NoError(t, <-c.done)
}

func TestReplayDies(t *testing.T) {
	var stderr bytes.Buffer
	c := start(t, Replay(steps(`E segfault`, `! exit`)), WithStderr(&stderr))
	var death *Death
	require.True(t, errors.As(<-c.done, &death))
	require.Equal(t, "segfault\n", stderr.String())
}

func TestReplayNamesWhatIsMissing(t *testing.T) {
	c := start(t, Replay(steps(`> {"jsonrpc":"2.0","factoryApiVersion":"1.0.0","type":"request","id":"7","method":"droid.initialize_session","params":{}}`,
		`! never reached`)))
	c.request("interrupt_session", Fields{})
	require.Equal(t, "RESP", c.next().name())
	require.NoError(t, c.finish(), "a client that leaves early is no error")
}

// Every recording plays back to a client that says what the recorded one said.
func TestReplayOfTheRecordings(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recordings, "*", "*.jsonl"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the recordings are not here")
	}
	if testing.Short() {
		files = files[:20]
	}
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		if info.Size() > 1<<20 {
			continue // long texts show nothing more here
		}
		recorded, err := fixture.ReadRecording(file)
		require.NoError(t, err)
		require.NoError(t, echo(recorded), file)
	}
}

// echo plays steps against a client that writes the recorded lines, and
// compares what comes back.
func echo(recorded []fixture.Step) error {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := Run(inR, outW, Replay(recorded))
		_ = outW.Close()
		done <- err
	}()
	defer outR.Close()
	out := bufio.NewReader(outR)
loop:
	for _, s := range recorded {
		switch s.Dir {
		case fixture.Note:
			if s.Exited() {
				break loop // a recording may go on with another process
			}
			if s.StdinClosed() || strings.Contains(s.Note, "stdin") {
				_ = inW.Close()
			}
		case fixture.FromDroid:
			line, err := out.ReadBytes('\n')
			if err != nil {
				return err
			}
			var got, want any
			if json.Unmarshal(line, &got) != nil || json.Unmarshal(s.Msg, &want) != nil {
				return errors.New("not JSON: " + string(line))
			}
			if string(canonical(got)) != string(canonical(want)) {
				return errors.New("got " + string(line) + "want " + string(s.Msg))
			}
		case fixture.ToDroid:
			if m := decodeLine(s.Msg); m.invalid != "" || m.Type == "notification" {
				continue
			}
			if _, err := inW.Write(append(append([]byte(nil), s.Msg...), '\n')); err != nil {
				return err
			}
		}
	}
	if err := inW.Close(); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, out)
	err := <-done
	var death *Death
	if errors.As(err, &death) {
		return nil
	}
	return err
}

func canonical(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}
