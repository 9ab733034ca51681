package smoke

import (
	"slices"
	"strings"
)

// commandFiles are the suffixes of the variables that name a CI job's command files: their content sets the variables and the PATH of later
// steps, the outputs of this one, and the summary page of the run. GitHub's runner and its imitations have them.
var commandFiles = []string{"ENV", "PATH", "OUTPUT", "STATE", "STEP_SUMMARY"}

// forges are the prefixes of the variables of those runners.
var forges = []string{"GITHUB_", "GITEA_", "FORGEJO_"}

// jobVariables are prefixes of further variables that runners set by themselves: tokens and addresses of GitHub's runner, the job's tokens
// on GitLab.
var jobVariables = []string{"ACTIONS_", "CI_JOB_TOKEN=", "CI_JOB_JWT", "CI_BUILD_TOKEN=", "CI_REPOSITORY_URL=", "CI_REGISTRY_PASSWORD=",
	"CI_DEPENDENCY_PROXY_PASSWORD=", "CI_DEPLOY_PASSWORD="}

// Environment returns environ without the command files and the tokens of the CI job, with which droid and its child processes could act
// for the job. Variables set by the author of a job stay.
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
