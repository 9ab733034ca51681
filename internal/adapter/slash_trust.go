package adapter

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"droid-acp/internal/paths"
	"droid-acp/internal/trust"
)

// trustCommand shows what the project brings to run, lets it run, or takes that back.
func trustCommand(r *slashRun, args string) {
	keeper, cwd := r.s.agent.cfg.Trust, r.s.cwd
	word := strings.ToLower(strings.TrimSpace(args))
	var answer string
	changed := false
	type said struct {
		answer  string
		changed bool
	}
	r.beside(openTime, errOpenTime, func(ctx context.Context) error {
		got, err := bounded(ctx, r.s.agent, "Trust", cwd, func(cwd string) (s said, err error) {
			s.answer, s.changed, err = answerTrust(keeper, cwd, word)
			return s, err
		})
		answer, changed = got.answer, got.changed
		return err
	}, func(err error) {
		if err != nil {
			r.fail("It was not kept", err)
			return
		}
		if client := r.s.proc.client(); changed && client != nil && !r.over() {
			r.s.leave() // the next prompt starts a process that is as the answer says
		}
		r.reply(answer)
	})
}

// answerTrust is what /trust says. changed reports that the next process is to be another
// one than this.
func answerTrust(keeper *trust.Keeper, cwd, word string) (answer string, changed bool, err error) {
	p := keeper.Look(cwd)
	switch {
	case !keeper.MayAsk():
		return "The agent was started with `--trust always` or `--trust never`, so there is nothing to choose here.", false, nil
	case word == "no":
		forgot, err := keeper.Forget(cwd)
		if !forgot {
			return "Nothing was remembered for this project. What droid's own terminal remembers stands under trustedFolders in ~/.factory/settings.json.", false, err
		}
		if keeper.Look(cwd).Trusted {
			return "Forgotten here. droid's own terminal trusts this project, too: trustedFolders in ~/.factory/settings.json. So it still runs what it brings.", false, err
		}
		return "Forgotten. What the project brings is left out from your next prompt on, which asks.", true, err
	case len(p.Items) == 0:
		return "This project brings nothing that would run.", false, nil
	case word == "yes" && !p.Trusted:
		err := keeper.Trust(p)
		return "Trusted, and remembered for " + p.Place() + " and its worktrees:\n\n" + p.List() + "\nThey run from your next prompt on. `/trust no` takes that back.", true, err
	}
	state := "It is not trusted, so this is left out; `/trust yes` lets it run."
	if p.Trusted {
		state = "It is trusted; `/trust no` takes that back."
	}
	return fmt.Sprintf("This project (%s) brings %s:\n\n%s\n%s", p.Place(), p.Kinds(), p.List(), state), false, nil
}

// programName is the name of a command by its file: without the ending and the directory.
func programName(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// trustLine is the command that lets a project run what it brings.
func trustLine(root string) string { return "droid-acp trust --yes " + paths.Word(root) }
