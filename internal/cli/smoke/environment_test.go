package smoke

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEnvironment: what speaks for the job does not reach droid, all else does.
func TestEnvironment(t *testing.T) {
	kept := []string{"PATH=/bin", "HOME=/h", "ENV=x", "OUTPUT=x", "GITHUB_WORKSPACE=/w", "GITHUB_ENVIRONMENT=x", "GITHUB_TOKEN=given by the author",
		"FACTORY_API_KEY=k", "CI=true", "CI_COMMIT_SHA=x", "MY_GITHUB_ENV=x", "GITHUB_PATHS=x", "A=GITHUB_ENV=x", ""}
	gone := []string{"GITHUB_ENV=/f", "GITHUB_PATH=/f", "GITHUB_OUTPUT=/f", "GITHUB_STATE=/f", "GITHUB_STEP_SUMMARY=/f", "GITHUB_OUTPUT=",
		"GITEA_ENV=/f", "FORGEJO_OUTPUT=/f", "ACTIONS_RUNTIME_TOKEN=t", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=t", "ACTIONS_ID_TOKEN_REQUEST_URL=u",
		"CI_JOB_TOKEN=t", "CI_JOB_JWT_V2=t", "CI_REPOSITORY_URL=https://gitlab-ci-token:t@x/", "CI_REGISTRY_PASSWORD=t"}
	all := append(slices.Clone(gone), kept...)
	require.Equal(t, kept, Environment(all))
	require.Equal(t, gone, all[:len(gone)], "the given one stays as it is")
}
