package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"droid-acp/internal/diagnosis"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/layer"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/store"
)

// closeTime bounds how long droid may take to end; 0.215 needs 6 s.
const closeTime = 15 * time.Second

// running is a droid in an empty directory of its own.
type running struct {
	client *droid.Client
	dir    string
	heard  sync.WaitGroup // the goroutine that reads its events
}

// opening is a session that was opened.
type opening struct {
	model   stream.Model // that a new session starts with; its ID alone if droid does not list it
	custom  []stream.Model
	known   bool   // droid lists the model
	offered string // the ids of some models
}

// failed is the check of something that does not work.
func failed(t *diagnosis.Trouble, facts map[string]any) Check {
	if facts == nil {
		facts = map[string]any{}
	}
	facts["kind"] = string(t.Kind)
	return Check{Result: Failure, Found: t.Cause, ToDo: t.Remedy, Facts: facts}
}

var noDroid = Check{Result: Skipped, Found: "There is no droid that works."}

func lookForDroid(p *patient, ctx context.Context) Check {
	path, err := p.Find()
	if err != nil {
		return failed(diagnosis.Start(err), nil)
	}
	facts := map[string]any{"path": path}
	program, err := droid.Inspect(path)
	if err == nil {
		facts["resolved"], facts["systems"] = program.Path, program.Systems
		if t := diagnosis.WrongSystem(program); t != nil {
			return failed(t, facts)
		}
	}
	asked, cancel := context.WithTimeout(ctx, p.Patience/2)
	defer cancel()
	release, err := droid.Release(asked, path)
	switch {
	case ctx.Err() != nil:
		return p.ended(ctx, "")
	case errors.Is(err, context.DeadlineExceeded): // the next check tells whether it works
		p.program = path
		return Check{Result: Warning, Found: fmt.Sprintf("%s. It did not tell its version within %v.", path, p.Patience/2), Facts: facts,
			ToDo: "Look whether `droid --version` works in a terminal. On a very busy machine it may only take long."}
	case err != nil:
		t := diagnosis.Start(err)
		return failed(&diagnosis.Trouble{Kind: t.Kind, Cause: path + ": " + t.Cause, Remedy: t.Remedy}, facts)
	}
	facts["version"] = release
	p.program = path
	return Check{Result: OK, Found: programWords(path, release, program), Facts: facts}
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

func lookAtStart(p *patient, ctx context.Context) Check {
	if p.program == "" {
		return noDroid
	}
	dir, err := os.MkdirTemp("", "droid-acp-doctor-")
	if err != nil {
		return Check{Result: Failure, Found: "No directory for a session can be made: " + diagnosis.Sentence(err), ToDo: "Make room in the directory for temporary files, or set TMPDIR to another one."}
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // as droid calls it
	}
	command := droid.Command{Path: p.program, Dir: dir, Without: new(layer.Layer)}
	client, err := droid.Start(command, p.Log)
	var cannot *droid.LeftOutError
	if errors.As(err, &cannot) { // the directory is empty, so there is little that could run
		command.Without = nil
		client, err = droid.Start(command, p.Log)
	}
	if err != nil {
		_ = os.Remove(dir) // it is empty
		return failed(diagnosis.Start(err), nil)
	}
	p.droid = &running{client: client, dir: dir}
	if p.Started != nil {
		p.Started(func() { client.Kill(); _ = os.RemoveAll(dir) })
	}
	p.droid.heard.Go(func() {
		for range client.Events() { // nothing of it is of interest
		}
	})
	version := client.AwaitVersion(ctx)
	var exit *droid.ExitError
	if version.IsZero() { // it has ended, or it is one that tells no version
		_, err := client.Skills(ctx)
		errors.As(err, &exit)
	}
	if ctx.Err() != nil || exit != nil {
		p.end(ctx)
	}
	switch {
	case exit != nil:
		return failed(diagnosis.Exit(exit), nil)
	case ctx.Err() != nil:
		return p.ended(ctx, "droid was started and said nothing")
	}
	facts := map[string]any{"protocol": version.String(), "generation": version.Generation()}
	if version.Generation() == "" {
		return Check{Result: Warning, Found: "It tells no version of its protocol, as very old ones do.", ToDo: "Update droid: much is missing in one so old.", Facts: facts}
	}
	return Check{Result: OK, Found: fmt.Sprintf("It speaks protocol %s, that of droid %s and newer.", version, version.Generation()), Facts: facts}
}

func lookAtSession(p *patient, ctx context.Context) Check {
	if p.droid == nil {
		return Check{Result: Skipped, Found: "droid does not run."}
	}
	params := droid.InitializeParams{CWD: p.droid.dir, SessionID: uuid.NewString()}
	if p.Model != "" {
		params.Settings.ModelID = &p.Model
	}
	info, err := p.droid.client.Initialize(ctx, params)
	end := p.endDroid(ctx, params.SessionID)
	if ctx.Err() != nil && err != nil {
		return p.ended(ctx, "droid did not open a session")
	}
	if err != nil {
		return sessionFailed(err)
	}
	p.opened = openingOf(info)
	facts := map[string]any{"model": p.opened.model.ID, "custom": p.opened.model.IsCustom}
	if info.SessionID != params.SessionID && end == nil {
		end = discard(info.SessionID)
	}
	found := "In an empty directory; it is removed again."
	switch {
	case end != nil:
		return Check{Result: Warning, Found: "It opened, but could not be removed again: " + diagnosis.Sentence(end), ToDo: "Delete the session without a title in your editor's list.", Facts: facts}
	case p.Model != "" && (p.opened.model.ID != p.Model || !p.opened.known):
		found = fmt.Sprintf("A session does not start with the model %q, but with %s.", p.Model, p.opened.words())
		if p.opened.model.ID == p.Model { // 0.99 takes any
			found = fmt.Sprintf("droid does not offer the model %q.", p.Model)
		}
		p.opened.known = false
		return Check{Result: Failure, Found: found,
			ToDo: "Correct --model or $DROID_ACP_MODEL. droid offers " + p.opened.offered + ".", Facts: facts}
	case p.opened.model.ID != "":
		found += " New sessions start with " + p.opened.words() + "."
	}
	return Check{Result: OK, Found: found, Facts: facts}
}

// sessionFailed explains why droid opened no session.
func sessionFailed(err error) Check {
	var refused *stream.RPCError
	var exit *droid.ExitError
	switch {
	case errors.As(err, &exit):
		return failed(diagnosis.Exit(exit), nil)
	case errors.As(err, &refused):
		return failed(&diagnosis.Trouble{Kind: diagnosis.Refused, Cause: "droid refused to open a session: " + strings.TrimSuffix(refused.Message, ".") + ".", Remedy: "Run `droid` in a terminal to see what is wrong with it, and update it."}, nil)
	}
	return failed(&diagnosis.Trouble{Kind: diagnosis.Failed, Cause: "droid did not open a session: " + diagnosis.Sentence(err), Remedy: "Run `droid` in a terminal to see what is wrong with it, and update it."}, nil)
}

func openingOf(info *stream.SessionInfo) *opening {
	o := &opening{}
	if info.Settings.ModelID != nil {
		o.model.ID = *info.Settings.ModelID
	}
	var ids []string
	for _, m := range info.AvailableModels {
		if m.IsCustom {
			ids = append([]string{m.ID}, ids...)
		} else {
			ids = append(ids, m.ID)
		}
		if m.ID == o.model.ID {
			o.model, o.known = m, true
		}
		if m.IsCustom {
			o.custom = append(o.custom, m)
		}
	}
	o.offered = some(ids, "model")
	return o
}

// words name the model that a session starts with.
func (o *opening) words() string {
	switch {
	case o.model.IsCustom:
		return "your own model " + modelName(o.model)
	case o.known:
		return "Factory's model " + modelName(o.model)
	}
	return "the model " + o.model.ID
}

func modelName(m stream.Model) string {
	if m.DisplayName != "" {
		return m.DisplayName
	}
	return m.ID
}

// end ends what still runs.
func (p *patient) end(ctx context.Context) {
	if p.droid != nil {
		_ = p.endDroid(ctx, "") // there is nobody left to tell
	}
}

// endDroid ends droid, and removes its directory and its session, "" for none. Where ctx
// has ended, droid is killed.
func (p *patient) endDroid(ctx context.Context, session string) error {
	running := p.droid
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	_ = running.client.Close(ctx) // it is killed in any case
	running.heard.Wait()
	p.droid = nil
	var err error
	if session != "" {
		err = discard(session)
	}
	return errors.Join(err, os.RemoveAll(running.dir))
}

// discard removes a session of ours from droid's store.
func discard(id string) error {
	root, err := store.Root()
	if err != nil {
		return err
	}
	return store.New(root, nil).Discard(id)
}

func lookAtBridge(p *patient, ctx context.Context) Check {
	if _, err := os.Stat(os.TempDir()); err != nil { // the demo's session is in it
		return Check{Result: Failure, Found: "The directory for temporary files cannot be used: " + diagnosis.Sentence(err), ToDo: "Make it, or set TMPDIR to another one."}
	}
	if err := p.Demo(ctx); err != nil {
		if ctx.Err() != nil {
			return p.ended(ctx, "The demo did not end")
		}
		return Check{Result: Failure, Found: "The built-in droid's conversation did not come through: " + diagnosis.Sentence(err),
			ToDo: "This is a defect of droid-acp on this system (" + runtime.GOOS + "/" + runtime.GOARCH + "). Please report it with this report."}
	}
	return Check{Result: OK, Found: "The conversation of the built-in scripted droid came through to its end."}
}

func lookAtModel(p *patient, _ context.Context) Check {
	if p.opened == nil {
		return Check{Result: Skipped, Found: "No session was opened."}
	}
	return Check{Result: Skipped, Found: "Not asked, since an answer may cost money.", ToDo: "To ask it: `droid-acp smoke \"Say hello.\"`"}
}
