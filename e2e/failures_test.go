//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// failureLimit is more than the 0.99 takes to give up (4 to 20 s).
const failureLimit = 60 * time.Second

// loud checks that a turn did not end as if all were well.
func loud(t *testing.T, end ending, words ...string) {
	t.Helper()
	said := end.text()
	if end.Err != nil {
		said += " " + end.Err.Error()
	}
	t.Logf("the turn ends with %q, it says %q, error %v", end.Stop, end.text(), end.Err)
	require.NotEmpty(t, said, "the turn ends silently with %s", end.Stop)
	for _, w := range words {
		require.Contains(t, said, w)
	}
}

func TestModelRefusesTheKey(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("go", modelserver.Step{Status: 401})
		model.On("still", modelserver.Step{Text: "Still here."})
		s := startAgent(t, h).open(h)
		loud(t, s.prompt("go").end(failureLimit), "scripted 401")
		s.still()
	})
}

func TestModelIsNotThere(t *testing.T) {
	t.Parallel()
	for _, version := range droidsOf(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			url, err := modelserver.RefusedURL()
			require.NoError(t, err)
			h := newHome(t, version, url)
			loud(t, startAgent(t, h).open(h).prompt("go").end(failureLimit))
		})
	}
}

func TestModelBreaksOff(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("go", modelserver.Step{Text: "Half of a", Break: true})
		loud(t, startAgent(t, h).open(h).prompt("go").end(failureLimit))
	})
}

// A model that breaks off once and answers when droid asks again makes a normal
// turn; the answer comes once, and what came before the break is said to be void.
func TestModelBreaksOffOnce(t *testing.T) {
	eachProvider(t, func(t *testing.T, model *modelserver.Server, h home, _ modelserver.Provider) {
		const whole = "The whole answer, not a half."
		model.On("go", modelserver.Step{Thinking: "Hm. ", Text: "Half of an ", Delay: 50 * time.Millisecond, Break: true, Times: 1}, modelserver.Step{Thinking: "Once more. ", Text: whole})
		end := startAgent(t, h).open(h).prompt("go").end(failureLimit)
		require.Nil(t, end.Err)
		require.Equal(t, "end_turn", end.Stop)
		seen := scene(end.Updates)
		t.Logf("%q", seen)
		answer := ""
		for _, u := range end.chunks() {
			if !u.isNotice() { // one quotes how the answer begins
				answer += u.text()
			}
		}
		require.Equal(t, 1, strings.Count(answer, whole))
		require.True(t, strings.HasSuffix(answer, whole))
		if answer != whole {
			require.Contains(t, strings.Join(seen, "\n"), "is void")
		}
	})
}

// Without a login and without a custom model droid starts, and the first turn
// fails.
func TestNoLogin(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		require.NoError(t, os.Remove(filepath.Join(h.dir, ".factory", "settings.json")))
		end := startAgent(t, h).open(h).prompt("go").end(failureLimit)
		require.NotNil(t, end.Err)
		require.Equal(t, codeAuth, end.Err.Code)
		require.Contains(t, end.Err.Error(), "/login")
	})
}
