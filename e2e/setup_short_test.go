//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// withOldDroid are the tests that a short run (go test -short) has with the older droid, too: what
// keeps a user safe with it, and the oddities of droid's that were known first. All others run
// with the newer one alone there, and with both otherwise: the older droid takes three times as
// long to start.
var withOldDroid = []string{
	// It asks first, and does what was allowed and no more.
	"TestPermissions", "TestTwoEditsInOneRequest",
	"TestOneKeyGrantsTheLeast", "TestAlwaysRaisesTheMode", "TestModeDecides", "TestSpecRefused", "TestRefusalOfOneOfSeveralWithWords",
	// What a repository or a command brings is not believed.
	"TestHostileRepository", "TestGitProgramsNeedAYes", "TestHostileSessionIDs", "TestHooksOfAProcess", "TestCommandsCannotPlayHooks",
	// An edit lands whole, on what the user has, or not at all.
	"TestEditsAsDiffs", "TestPatchesInPart", "TestReadsSeeTheEditor", "TestEditsAreListedAsTheAgents", "TestRefusedEditTouchesNothing",
	"TestKilledWhileEditing",
	// A cancel ends the prompt, and nobody is left behind.
	"TestCancel/mid_stream", "TestCancel/mid_permission", "TestCancelStoppedDroid", "TestNoProcessSurvivesTheEditor/EOF", "TestNoProcessSurvivesTheEditor/SIGKILL",
	// A text comes once and before its end, a failure is one, and the conversation is there again.
	"TestTextStreams", "TestFollowUps/steer_streaming", "TestFollowUps/queue_permission", "TestModelFails", "TestDroidIsKilled", "TestSessionSurvivesTheAgent",
}

// droidsOf are the versions of droid that a test runs.
func droidsOf(t *testing.T) []string {
	named := func(name string) bool { return strings.HasPrefix(t.Name()+"/", name+"/") }
	if testing.Short() && !slices.ContainsFunc(withOldDroid, named) {
		return []string{newDroid}
	}
	return []string{oldDroid, newDroid}
}

// TestShortRunTestsExist: a test with another name would be one with the newer droid alone.
func TestShortRunTestsExist(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	for _, name := range withOldDroid {
		name, _, _ := strings.Cut(name, "/")
		require.Contains(t, all.String(), "\nfunc "+name+"(t *testing.T) {\n")
	}
}
