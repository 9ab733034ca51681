package flags

import (
	"slices"
	"strings"
)

// prefix is what the names of this program's variables begin with.
const prefix = "DROID_ACP_"

// others are variables, without the prefix, that are no settings of a user: "…_" stands for
// all that begin so. The first three are for tests; the completion scripts read the others.
var others = []string{
	"E2E_", "TEST_", "TRANSCRIPTS", "COMPLETION_DESCRIPTIONS", "ACTIVE_HELP",
}

// UnknownVariables says of each variable of an environment (lines NAME=VALUE) that begins with
// DROID_ACP_ and that nobody reads, that there is no such setting. One with an empty value
// is not set.
func UnknownVariables(environ []string) (sentences []string) {
	for _, line := range environ {
		variable, value, _ := strings.Cut(line, "=")
		if name, ours := strings.CutPrefix(variable, prefix); ours && value != "" && !isKnown(name) {
			sentences = append(sentences, "there is no setting $"+variable)
		}
	}
	return sentences
}

func isKnown(name string) bool {
	return slices.ContainsFunc(Common(), func(s Setting) bool { return s.Env == prefix+name }) ||
		slices.ContainsFunc(others, func(o string) bool {
			return name == o || strings.HasSuffix(o, "_") && strings.HasPrefix(name, o)
		})
}
