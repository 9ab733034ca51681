package trust

import (
	"fmt"

	"droid-acp/internal/droid/diagnosis"
)

// Answer is what the user is told.
type Answer struct {
	Text    string
	Changed bool // the next process is to be another one than this
}

// Answer is what /trust says, after it has done what the word wants: "yes", "no", or nothing.
func (k *Keeper) Answer(cwd, word string) (Answer, error) {
	p := k.Look(cwd)
	switch {
	case !k.MayAsk():
		return Answer{"The agent was started with `--trust always` or `--trust never`, so there is nothing to choose here.", false}, nil
	case word == "no":
		forgot, err := k.Forget(cwd)
		if !forgot {
			return Answer{"Nothing was remembered for this project.", false}, err
		}
		return Answer{"Forgotten. What the project brings is left out from your next prompt on, which asks.", true}, err
	case len(p.Items) == 0:
		return Answer{"This project brings nothing that would run.", false}, nil
	case word == "yes" && !p.Trusted:
		err := k.Trust(p)
		return Answer{"Trusted, and remembered for " + p.Place() + " and its worktrees:\n\n" + p.List() + "\nThey run from your next prompt on. `/trust no` takes that back.", true}, err
	}
	state := "It is not trusted, so this is left out; `/trust yes` lets it run."
	if p.Trusted {
		state = "It is trusted; `/trust no` takes that back."
	}
	return Answer{fmt.Sprintf("This project (%s) brings %s:\n\n%s\n%s", p.Place(), p.Kinds(), p.List(), state), false}, nil
}

// Refusal says that a session cannot be opened without what the project brings; why is a
// sentence. The command that it names is for the session's directory: one for the root would
// not look at what stands below that.
func (p Project) Refusal(why string) string {
	if len(p.Items) == 0 {
		return fmt.Sprintf("Nobody has said yes to what this project (%s) may bring to run, and droid cannot be kept from running it: %s Mend that, or start the agent with `--trust always`.", p.Place(), why)
	}
	return fmt.Sprintf("This project (%s) brings %s, and nobody has said yes to that here. droid cannot leave it out: %s\n\n%s\nLook at it. To let it run, run %s in a terminal, or start the agent with `--trust always`.",
		p.Place(), p.Kinds(), why, p.List(), diagnosis.Command("trust", "--yes", p.CWD))
}
