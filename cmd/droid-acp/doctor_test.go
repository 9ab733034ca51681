package main

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

func TestDoctorWithoutDroid(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, home)
	}
	t.Setenv("DROID_ACP_DROID", home+"/none")
	got := command("", "doctor")
	require.Equal(t, exitFailed, got.code)
	require.Empty(t, got.stderr)
	require.Contains(t, got.stdout, "FAILURE  droid found: droid not found: ~")
	require.Contains(t, got.stdout, "Correct the path in DROID_ACP_DROID")
	require.Contains(t, got.stdout, "ok       demo through the bridge:", "the demo goes through this program")
	require.Contains(t, got.stdout, "1 failure. ")

	got = command("", "doctor", "--json")
	require.Equal(t, exitFailed, got.code)
	var report struct {
		OK     bool
		Checks []struct{ ID, Result string }
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	require.False(t, report.OK)
	require.Equal(t, []string{"droid", "failure"}, []string{report.Checks[3].ID, report.Checks[3].Result})

	for _, columns := range []int{60, 80, 120} {
		t.Setenv("COLUMNS", strconv.Itoa(columns))
		longest := 0
		for line := range strings.Lines(command("", "doctor").stdout) {
			if !strings.Contains(line, "`") { // a command stays whole
				longest = max(longest, utf8.RuneCountInString(line)-1)
			}
		}
		require.InDelta(t, columns-10, longest, 10)
	}

	t.Setenv("DROID_ACP_MODLE", "x")
	require.Contains(t, command("", "doctor").stdout, "DROID_ACP_MODLE")
	require.Equal(t, exitUsage, command("", "doctor", "--no-such-flag").code)
	require.Equal(t, exitUsage, command("", "doctor", "now").code)
}

// An agent that has ended accepts no more lines, and a client that writes one gets an error.
func TestDemoTurnAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, demoTurn(ctx, zap.NewNop()))
}
