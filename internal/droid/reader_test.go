package droid

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

func TestExitErrorText(t *testing.T) {
	for want, e := range map[string]ExitError{
		`droid exited with code 1 before it said anything: a` + "\n" + `b`: {Code: 1, Stderr: []string{"a", "b"}},
		`droid exited with code 0`: {Started: true},
		`droid was ended by signal "SIGKILL", by another program or because memory ran out: a`: {Code: -1, Signal: "SIGKILL", Started: true, Stderr: []string{"a"}},
		`droid was killed by droid-acp`:                                               {Code: -1, Signal: "SIGKILL", Started: true, Requested: true},
		`droid was killed by droid-acp, because it was mute, before it said anything`: {Code: -1, KilledFor: "it was mute"},
		`droid is gone before it said anything (EOF)`:                                 {Code: -1, Err: io.EOF},
	} {
		require.EqualError(t, &e, want)
	}
	require.ErrorIs(t, &ExitError{Err: io.EOF}, io.EOF)
}

func TestLogTextHoldsNothingOfDroids(t *testing.T) {
	var number struct{ Count string }
	for want, err := range map[string]error{
		`load: droid exited with code 1, after 2 lines on stderr`: fmt.Errorf("load: %w", &ExitError{Code: 1, Started: true, Stderr: []string{"SECRET", "SECRET"}}),
		`interrupt: droid refused with code -32603`:               fmt.Errorf("interrupt: %w", &stream.RPCError{Code: -32603, Message: "SECRET"}),
		`no JSON at byte 2`:                json.Unmarshal([]byte("{SECRET"), &number),
		`a number in the field "Count"`:    json.Unmarshal([]byte(`{"Count":4711}`), &number),
		`working directory is no more`:     errors.New("working directory is no more"),
		`droid was ended by signal "KILL"`: &ExitError{Signal: "KILL", Started: true},
	} {
		require.Equal(t, want, LogText(err))
	}
}
