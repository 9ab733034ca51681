package doctor

import (
	"context"
	"fmt"
	"os"
	"strings"

	"droid-acp/internal/droid/diagnosis"
)

// checkLogin checks whether droid has a login. Whether it is still valid only Factory knows.
func checkLogin(p *inspection, _ context.Context) Check {
	facts := map[string]any{"kind": "none"}
	switch {
	case os.Getenv(envKey) != "":
		return Check{Result: OK, Found: envKey + " is set. Whether Factory takes the key was not asked.", Facts: map[string]any{"kind": "api_key"}}
	case p.login != "":
		return Check{Result: OK, Found: "droid keeps a login (" + p.login + "). Whether Factory still takes it was not asked.", Facts: map[string]any{"kind": "account"}}
	case p.opened == nil:
		return Check{Result: Skipped, Found: "droid keeps no login here. Whether one is needed was not found out, since no session was opened.", Facts: facts}
	case p.Model != "" && !p.opened.known:
		return Check{Result: Skipped, Found: "droid keeps no login here. Whether the model needs one is not known.", Facts: facts}
	case p.opened.model.IsCustom:
		return Check{Result: OK, Found: "droid is not logged in, and need not be: new sessions start with " + p.opened.describe() + ". Subagents (droid's tool Task) need a login all the same.", Facts: facts}
	case p.blocked["settings"] != "":
		return Check{Result: Skipped, Found: fmt.Sprintf("droid keeps no login here. Whether one is needed was not found out, because of %q above.", p.blocked["settings"]), Facts: facts}
	}
	t := diagnosis.LoginRequired()
	check := Check{Result: Failure, Found: t.Cause + " New sessions start with " + p.opened.describe() + ", which needs a login.", ToDo: t.Remedy, Facts: facts}
	if len(p.opened.custom) > 0 {
		login := diagnosis.LoginRemedy()
		check.ToDo = "Give the agent the argument `--model " + p.opened.custom[0].ID + "` to start with your own model, which needs no login. Or log in: " + strings.ToLower(login[:1]) + login[1:]
	}
	return check
}

// needsLogin reports whether no login is known, and a session would start with a model that needs one.
func (p *inspection) needsLogin() bool {
	return os.Getenv(envKey) == "" && p.login == "" && !p.opened.model.IsCustom
}
