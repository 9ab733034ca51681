package main

import (
	"context"
	"encoding/json"
	"testing"

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
	require.Contains(t, got.stdout, "FAILURE  droid found              droid not found: ~")
	require.Contains(t, got.stdout, "Correct the path in DROID_ACP_DROID")
	require.Contains(t, got.stdout, "ok       demo through the bridge", "the demo goes through this program")
	require.Contains(t, got.stdout, "1 failure. ")

	got = command("", "doctor", "--json")
	require.Equal(t, exitFailed, got.code)
	var report struct {
		OK     bool
		Checks []struct{ ID, Result string }
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	require.False(t, report.OK)
	require.Equal(t, "failure", report.Checks[0].Result)

	t.Setenv("DROID_ACP_MODLE", "x")
	require.Contains(t, command("", "doctor").stdout, "DROID_ACP_MODLE")
	require.Equal(t, exitUsage, command("", "doctor", "--no-such-flag").code)
	require.Equal(t, exitUsage, command("", "doctor", "now").code)
}

// An agent that has ended takes no more lines, and a client that writes one to it is told.
func TestDemoTurnAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, demoTurn(ctx, zap.NewNop()))
}
