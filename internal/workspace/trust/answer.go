package trust

import (
	"fmt"

	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/projectconfig"
)

// Answer is the response to /trust.
type Answer struct {
	Text    string
	Project Project
	Shows   bool // Text lists everything that the project brings
	Changed bool // the running droid must be replaced
}

// Answer executes /trust with the argument "yes", "no" or "". shown are the sums of the items that the user has read: a yes covers no more
// than that. takes is as in CheckFor.
func (s *Store) Answer(cwd, word string, shown []string, takes func(projectconfig.Layer) projectconfig.Layer) (Answer, error) {
	p := s.CheckFor(cwd, takes)
	switch {
	case !s.MayAsk():
		return Answer{Text: "The agent was started with `--trust always` or `--trust never`, so there is nothing to choose here.", Project: p}, nil
	case word == "no":
		forgot, err := s.Forget(cwd)
		if !forgot {
			return Answer{Text: "Nothing was remembered for this project.", Project: p}, err
		}
		return Answer{Text: "Forgotten. What the project brings is left out from your next prompt on, which asks.", Project: p, Changed: true}, err
	case len(p.Items) == 0:
		return Answer{Text: "This project brings nothing that would run.", Project: p}, nil
	case word == "yes" && !p.Trusted && !p.HasUnread() && p.CoveredBy(shown):
		err := s.Trust(p)
		return Answer{Text: "Trusted, and remembered for " + p.rootMarkdown() + " and its worktrees:\n\n" + p.List() + "\nThey run from your next prompt on. `/trust no` takes that back.", Project: p, Changed: true}, err
	}
	state := "It is not trusted, so this is left out; `/trust yes` lets it run."
	switch {
	case p.Trusted:
		state = "It is trusted; `/trust no` takes that back."
	case p.HasUnread():
		state = NotReadable
	case word == "yes":
		state = "You had not been shown all of this, so it is not trusted yet. `/trust yes` lets it run."
	}
	return Answer{Text: fmt.Sprintf("This project (%s) brings %s:\n\n%s\n%s", p.rootMarkdown(), p.Kinds(), p.List(), state), Project: p, Shows: true}, nil
}

// NotReadable explains why a project with something HasUnread cannot be trusted.
const NotReadable = "Not all of it could be read, so nobody can say yes to it, and it is left out. Remove or repair what is named here, or start the agent with `--trust always`."

// Refusal explains that a session cannot be opened without what the project brings; why is a sentence. It names a command for the session's
// directory, since one for the root would not consider what is below that directory.
func (p Project) Refusal(why string) string {
	if len(p.Items) == 0 {
		return fmt.Sprintf("Nobody has said yes to what this project (%s) may bring to run, and droid cannot be kept from running it: %s Mend that, or start the agent with `--trust always`.", p.rootMarkdown(), why)
	}
	then := "Look at it. To let it run, run " + diagnosis.Command("trust", "--yes", p.CWD) + " in a terminal, or start the agent with `--trust always`."
	if p.HasUnread() {
		then = NotReadable
	}
	return fmt.Sprintf("This project (%s) brings %s, which nobody has allowed here. droid cannot leave it out: %s\n\n%s\n%s",
		p.rootMarkdown(), p.Kinds(), why, p.Screen(diagnosis.Command("trust", p.CWD)), then)
}
