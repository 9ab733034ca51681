package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/stream"
)

// closeTime is how long droid may take to end; 0.215 needs 6 s.
const closeTime = 15 * time.Second

// openedSession describes a session that was opened.
type openedSession struct {
	model   stream.Model // of a new session; only its ID if droid does not list it
	custom  []stream.Model
	known   bool   // droid lists the model
	offered string // IDs of some models
}

// problemCheck returns the check for a problem.
func problemCheck(t *diagnosis.Problem, facts map[string]any) Check {
	if facts == nil {
		facts = map[string]any{}
	}
	facts["kind"] = string(t.Kind)
	return Check{Result: Failure, Found: t.Cause, ToDo: t.Remedy, Facts: facts}
}

func checkDroid(p *inspection, ctx context.Context) Check {
	path, err := p.Find()
	if err != nil {
		return problemCheck(diagnosis.Start(err), nil)
	}
	facts := map[string]any{"path": path}
	program, err := droid.Inspect(path)
	if err == nil {
		facts["resolved"], facts["systems"] = program.Path, program.Systems
		if t := diagnosis.WrongSystem(program); t != nil {
			return problemCheck(t, facts)
		}
	}
	if p.isolated, err = newIsolation(p.copies); err != nil {
		return Check{Result: Failure, Found: "No directory can be made in which droid runs: " + diagnosis.Sentence(err), ToDo: "Make room in the directory for temporary files, or set TMPDIR to another one."}
	}
	p.registerKill(nil)
	asked, cancel := context.WithTimeout(ctx, p.Timeout/2)
	defer cancel()
	release, err := droid.Release(asked, path, p.isolated.env)
	switch {
	case ctx.Err() != nil:
		return p.ended(ctx, "droid did not tell its version", p.tryDroid(path))
	case errors.Is(err, context.DeadlineExceeded): // the next check shows whether it works
		p.program = path
		return Check{Result: Warning, Found: fmt.Sprintf("%s. It did not tell its version within %v.", path, p.Timeout/2), Facts: facts,
			ToDo: diagnosis.TryRemedy(path) + " On a very busy machine it may only take long."}
	case err != nil:
		t := diagnosis.Start(err)
		return problemCheck(&diagnosis.Problem{Kind: t.Kind, Cause: path + ": " + t.Cause, Remedy: t.Remedy}, facts)
	}
	facts["version"] = release
	p.program = path
	return Check{Result: OK, Found: programWords(path, release, program), Facts: facts}
}

func (p *inspection) tryDroid(path string) string {
	return diagnosis.TryRemedy(path) + " Look whether the machine is very busy. Updating droid may help."
}

// registerKill passes a function that ends what the doctor has started to Config.Started: everything in this directory, and client unless
// it is nil.
func (p *inspection) registerKill(client *droid.Client) {
	if p.Started == nil {
		return
	}
	temporary := p.isolated.temporary
	p.Started(func() {
		if client != nil {
			client.Kill()
			select {
			case <-client.Exited():
			case <-time.After(droid.KillTime):
			}
		}
		_ = temporary.Remove() // nobody is left to report it to
	})
}

func programWords(path, release string, program droid.Program) string {
	words := path + ", version " + release
	switch {
	case program.Interpreter != "":
		words += ", a script for " + program.Interpreter
	case len(program.Systems) > 0:
		words += ", for " + strings.Join(program.Systems, " and ")
	}
	if program.Path != "" && program.Path != path {
		words += ". It is a link to " + program.Path + "."
	}
	return words
}

func checkStart(p *inspection, ctx context.Context) Check {
	command := droid.Command{Path: p.program, Dir: p.isolated.work, Env: p.isolated.env, Alone: true}
	client, err := droid.Start(command, p.Log)
	if _, ok := errors.AsType[*droid.ExcludeError](err); ok { // the directory is empty, so little could run
		command.Alone = false
		client, err = droid.Start(command, p.Log)
	}
	if err != nil {
		return problemCheck(diagnosis.Start(err), nil)
	}
	p.droid = client
	p.registerKill(client)
	p.reader.Go(func() {
		for range client.Events() { // the events are not needed
		}
	})
	version := client.AwaitVersion(ctx)
	var exit *droid.ExitError
	if version.IsZero() { // it has exited, or it reports no version
		_, err := client.Skills(ctx)
		errors.As(err, &exit)
	}
	switch {
	case exit != nil:
		return problemCheck(diagnosis.Exit(exit), nil)
	case ctx.Err() != nil:
		return p.ended(ctx, "droid was started and said nothing", p.tryDroid(p.program))
	}
	facts := map[string]any{"protocol": version.String(), "generation": version.Generation()}
	if version.Generation() == "" {
		return Check{Result: Warning, Found: "It tells no version of its protocol, as very old ones do.", ToDo: stream.Update + " Much is missing in one so old.", Facts: facts}
	}
	check := Check{Result: OK, Found: fmt.Sprintf("It speaks protocol %s, that of droid %s and newer.", version, version.Generation()), Facts: facts}
	if untried := version.Untried(); untried != "" {
		check.Found, facts["untried"] = check.Found+" It "+untried+".", true
	}
	if missing := version.Missing(); missing != "" {
		check.Result, check.Found, check.ToDo = Warning, check.Found+" It "+missing+".", diagnosis.UpdateRemedy(p.program)
	}
	return check
}

func checkSession(p *inspection, ctx context.Context) Check {
	params := droid.InitializeParams{CWD: p.isolated.work, SessionID: p.isolated.id}
	if p.Model != "" {
		params.Settings.ModelID = &p.Model
	}
	info, err := p.droid.Initialize(ctx, params)
	end := p.end(ctx)
	if ctx.Err() != nil && err != nil {
		return p.ended(ctx, "droid did not open a session", p.tryDroid(p.program))
	}
	if err != nil {
		return sessionFailed(err)
	}
	p.opened = newOpenedSession(info)
	check := Check{Result: OK, Found: "In an empty directory, without your login; all of it is removed again.",
		Facts: map[string]any{"model": p.opened.model.ID, "custom": p.opened.model.IsCustom}}
	switch offered := len(p.opened.custom); {
	case end != nil:
		check.Result, check.Found, check.ToDo = Warning, "It opened, but what droid wrote could not be removed again: "+diagnosis.Sentence(end), "Remove that directory."
	case p.Model != "" && (p.opened.model.ID != p.Model || !p.opened.known):
		check.Result, check.Found = Failure, fmt.Sprintf("A session does not start with the model %q, but with %s.", p.Model, p.opened.describe())
		if p.opened.model.ID == p.Model { // 0.99 accepts any
			check.Found = fmt.Sprintf("droid does not offer the model %q.", p.Model)
		}
		check.ToDo = "Correct --model or $DROID_ACP_MODEL. droid offers " + p.opened.offered + "."
		switch why := p.blocked["settings"]; {
		case why != "":
			check.Result, check.Found, check.ToDo = Skipped, fmt.Sprintf("It opened. Whether droid offers the model %q was not found out, because of %q above.", p.Model, why), ""
		case p.login != "":
			check.Result, check.Found = Warning, check.Found+" That is without your login; what droid offers with it was not asked."
		}
		p.opened.known = false
	case p.models > offered:
		check.Result, check.Found = Warning, fmt.Sprintf("%s droid offers %d of your %s.", check.Found, offered, counted(p.models, "own model"))
		check.ToDo = "In " + filepath.Join(p.factory, "settings.json") + ", each entry of customModels needs model, baseUrl, apiKey and a provider that droid knows; look for one that lacks something."
	case p.opened.model.ID != "" && (p.opened.model.IsCustom || p.login == ""):
		check.Found += " New sessions start with " + p.opened.describe() + "."
	}
	return check
}

// sessionFailed explains why droid opened no session.
func sessionFailed(err error) Check {
	if exit, ok := errors.AsType[*droid.ExitError](err); ok {
		return problemCheck(diagnosis.Exit(exit), nil)
	}
	t := &diagnosis.Problem{Kind: diagnosis.Failed, Cause: "droid did not open a session: " + diagnosis.Sentence(err), Remedy: "Run droid in a terminal to see what is wrong with it, and update it."}
	if refused, ok := errors.AsType[*stream.RPCError](err); ok {
		t.Kind, t.Cause = diagnosis.Refused, "droid refused to open a session: "+strings.TrimSuffix(refused.Message, ".")+"."
	}
	return problemCheck(t, nil)
}

func newOpenedSession(info *stream.SessionInfo) *openedSession {
	o := &openedSession{}
	if info.Settings.ModelID != nil {
		o.model.ID = *info.Settings.ModelID
	}
	var own, others []string
	for _, m := range info.AvailableModels {
		if m.ID == o.model.ID {
			o.model, o.known = m, true
		}
		if m.IsCustom {
			o.custom, own = append(o.custom, m), append(own, m.ID)
		} else {
			others = append(others, m.ID)
		}
	}
	o.offered = some(append(own, others...), "model")
	return o
}

// describe names the model of the session.
func (o *openedSession) describe() string {
	name := cmp.Or(o.model.DisplayName, o.model.ID)
	switch {
	case o.model.IsCustom:
		return "your own model " + name
	case o.known:
		return "Factory's model " + name
	}
	return "the model " + name
}

// end ends droid, and removes its directory. If ctx has ended, droid is killed.
func (p *inspection) end(ctx context.Context) error {
	if p.droid != nil {
		ctx, cancel := context.WithTimeout(ctx, closeTime)
		defer cancel()
		_ = p.droid.Close(ctx) // it is killed in any case
		p.reader.Wait()
		p.droid = nil
	}
	if p.isolated == nil {
		return nil
	}
	return p.isolated.temporary.Remove()
}

func checkBridge(p *inspection, ctx context.Context) Check {
	if err := p.Demo(ctx); err != nil {
		const report = "This is a defect of droid-acp on this system (" + runtime.GOOS + "/" + runtime.GOARCH + "). Please report it with this report."
		if ctx.Err() != nil {
			return p.ended(ctx, "The demo did not end", "Look whether the machine is very busy. Else: "+report)
		}
		return Check{Result: Failure, Found: "The built-in droid's conversation did not come through: " + diagnosis.Sentence(err), ToDo: report}
	}
	return Check{Result: OK, Found: "The conversation of the built-in scripted droid came through to its end."}
}

func checkModel(p *inspection, _ context.Context) Check {
	model := p.Model
	switch {
	case p.needsLogin() && len(p.opened.custom) == 0:
		return Check{Result: Skipped, Found: "Not asked: none answers without a login."}
	case p.needsLogin():
		model = p.opened.custom[0].ID
	}
	words := append([]string{"smoke"}, p.Flags...)
	if model != "" {
		words = append(words, "--model", model)
	}
	return Check{Result: Skipped, Found: "Not asked, since an answer may cost money.", ToDo: "To ask it: " + diagnosis.Command(append(words, "Say hello.")...)}
}
