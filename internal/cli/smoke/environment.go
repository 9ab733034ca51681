package smoke

import (
	"slices"
	"strings"
)

// commandFiles are the ends of the variables that name a CI job's files of commands: what
// is written there sets the variables and the PATH of later steps, the outputs of this
// one, and the page of the run. GitHub's runner and those that are made after it have them.
var commandFiles = []string{"ENV", "PATH", "OUTPUT", "STATE", "STEP_SUMMARY"}

// forges are how the variables of those runners begin.
var forges = []string{"GITHUB_", "GITEA_", "FORGEJO_"}

// jobVariables begin with what runners put there besides, without being told to: their own
// tokens and addresses on GitHub, the tokens of the job on GitLab.
var jobVariables = []string{"ACTIONS_", "CI_JOB_TOKEN=", "CI_JOB_JWT", "CI_BUILD_TOKEN=", "CI_REPOSITORY_URL=", "CI_REGISTRY_PASSWORD=",
	"CI_DEPENDENCY_PROXY_PASSWORD=", "CI_DEPLOY_PASSWORD="}

// Environment is an environment without what would let droid, and what droid starts, speak
// for the CI job: its files of commands and its tokens. What the author of a job puts into
// the environment stays.
func Environment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), ofTheJob)
}

func ofTheJob(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.ContainsFunc(jobVariables, func(begin string) bool { return strings.HasPrefix(variable, begin) }) ||
		slices.ContainsFunc(forges, func(forge string) bool {
			file, found := strings.CutPrefix(name, forge)
			return found && slices.Contains(commandFiles, file)
		})
}
