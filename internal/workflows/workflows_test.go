package workflows

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const root = "../.."

// read decodes a file of the repository.
func read(t *testing.T, name string, into any) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal([]byte(text(t, name)), into), name)
}

func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(data)
}

// TestFormsAreRead: no other tool looks at the forms for issues.
func TestFormsAreRead(t *testing.T) {
	forms, err := filepath.Glob(filepath.Join(root, ".github", "ISSUE_TEMPLATE", "*.yml"))
	require.NoError(t, err)
	require.Len(t, forms, 3)
	for _, form := range forms {
		read(t, ".github/ISSUE_TEMPLATE/"+filepath.Base(form), new(map[string]any))
	}
}

func workflowNames(t *testing.T) (names []string) {
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		names = append(names, ".github/workflows/"+filepath.Base(file))
	}
	return names
}

// pinned is an action of another repository by its commit, with the version in words.
var pinned = regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)

// TestActionsArePinned: a tag can be moved, a commit cannot. One action is at one
// commit everywhere.
func TestActionsArePinned(t *testing.T) {
	commits := map[string]string{}
	for _, name := range append(workflowNames(t), "action.yml") {
		for line := range strings.Lines(text(t, name)) {
			_, used, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), "uses: ")
			if !found || strings.HasPrefix(used, "./") || strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			require.Regexp(t, pinned, used, name)
			action, commit, _ := strings.Cut(used, "@")
			if known := commits[action]; known != "" {
				require.Equal(t, known, commit, "%s in %s", action, name)
			}
			commits[action] = commit
		}
	}
	require.Len(t, commits, 6)
}

// workflow is what is looked at of a workflow.
type workflow struct {
	On          map[string]any
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		TimeoutMin  int `yaml:"timeout-minutes"`
		Uses        string
		Steps       []struct {
			Uses, Run string
			With      map[string]any
		}
	}
}

// TestLeastPermissions: no job may do more than it says, hardly any may write, and the
// ones that may run nothing that a change or a droid has brought.
func TestLeastPermissions(t *testing.T) {
	writes := map[string]string{}
	for _, name := range workflowNames(t) {
		var w workflow
		read(t, name, &w)
		require.NotNil(t, w.Permissions, "%s gives its jobs what the forge's settings say", name)
		require.Empty(t, w.Permissions, name)
		require.NotContains(t, w.On, "pull_request_target", "it would run a stranger's change with our rights")
		for job, j := range w.Jobs {
			require.NotNil(t, j.Permissions, "%s, job %s", name, job)
			for _, what := range slices.Sorted(maps.Keys(j.Permissions)) {
				if j.Permissions[what] == "write" {
					writes[name+" "+job] += what + " "
				}
			}
			if j.Uses == "" {
				require.NotZero(t, j.TimeoutMin, "%s, job %s", name, job)
			}
			for _, s := range j.Steps {
				if strings.HasPrefix(s.Uses, "actions/checkout@") {
					require.Equal(t, false, s.With["persist-credentials"], "%s, job %s", name, job)
				}
				require.NotContains(t, s.Run, "${{", "%s: a value of the forge in the text of a command", name)
			}
		}
	}
	require.Equal(t, map[string]string{
		".github/workflows/release.yml draft": "attestations contents id-token ",
		".github/workflows/droid.yml report":  "issues ",
	}, writes)
}

// TestWorkflowsRunWhatIsThere: the files and targets that they name are in the
// repository.
func TestWorkflowsRunWhatIsThere(t *testing.T) {
	makefile := text(t, "Makefile")
	for _, name := range workflowNames(t) {
		var w workflow
		read(t, name, &w)
		for _, j := range w.Jobs {
			for _, s := range j.Steps {
				for _, script := range regexp.MustCompile(`(?:scripts|\.ci)/[\w./-]+`).FindAllString(s.Run, -1) {
					info, err := os.Stat(filepath.Join(root, script))
					require.NoError(t, err, name)
					require.True(t, info.Mode()&0o111 != 0 || runtime.GOOS == "windows", "%s is not executable", script)
				}
				for _, m := range regexp.MustCompile(`\bmake ([a-z-]+)`).FindAllStringSubmatch(s.Run, -1) {
					require.True(t, strings.Contains(makefile, "\n"+m[1]+":"), "%s: make %s", name, m[1])
				}
			}
		}
	}
}
