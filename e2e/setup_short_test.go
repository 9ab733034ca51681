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

// withOldDroid are the tests that a short run (go test -short) also runs with the older droid: those for the user's safety, and for the
// earliest known oddities of droid. All others run only with the newer one then, and with both otherwise: the older droid takes three times
// as long to start.
var withOldDroid = []string{
	// It asks first, and does only what was allowed.
	"TestPermissions", "TestTwoEditsInOneRequest",
	"TestOneKeyGrantsTheLeast", "TestAlwaysRaisesTheMode", "TestModeDecides", "TestSpecRefused", "TestRefusalOfOneOfSeveralWithText",
	// Files of a repository and output of commands are not trusted.
	"TestHostileRepository", "TestGitProgramsNeedAYes", "TestHostileSessionIDs", "TestHooksOfAProcess", "TestCommandsCannotPlayHooks",
	// An edit is applied completely, to the user's current text, or not at all.
	"TestEditsAsDiffs", "TestPatchesInPart", "TestReadsSeeTheEditor", "TestEditsAreListedAsTheAgents", "TestRefusedEditTouchesNothing",
	"TestKilledWhileEditing",
	// A cancel ends the prompt, and no process remains.
	"TestCancel/mid_stream", "TestCancel/mid_permission", "TestCancelStoppedDroid", "TestNoProcessSurvivesTheEditor/EOF", "TestNoProcessSurvivesTheEditor/SIGKILL",
	// A text is sent once and before its end, a failure is reported, and the conversation can be continued.
	"TestTextStreams", "TestFollowUps/steer_streaming", "TestFollowUps/queue_permission", "TestModelFails", "TestDroidIsKilled", "TestSessionSurvivesTheAgent",
}

// droidsOf returns the versions of droid that a test runs.
func droidsOf(t *testing.T) []string {
	named := func(name string) bool { return strings.HasPrefix(t.Name()+"/", name+"/") }
	if testing.Short() && !slices.ContainsFunc(withOldDroid, named) {
		return []string{newDroid}
	}
	return []string{oldDroid, newDroid}
}

// A misspelled name would be a test with the newer droid only.
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
