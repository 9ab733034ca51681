//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// A timed tree is a project that changes while sessions work in it. A random number determines its parts, the steps of the sessions, and
// the steps at which each part appears and disappears. Each step is executed with a real droid behind droid-acp. A canary may fire only if
// a user has allowed the part that contains it: the part existed when the question was asked, or the question names it.
//
// DROID_ACP_E2E_TIMED_TREES="0.225.2 500 1" plays 500 timed trees from seed 1. A fourth word is the
// value of --trust for all of them: with "always" it shows which canaries are live.
const timedTreesEnv = "DROID_ACP_E2E_TIMED_TREES"

// timedSeeds are played in every run. Each of them failed while droid watched its files and --trust never let prompts pass without a check.
var timedSeeds = []uint64{7, 29, 34, 37}

// timedPart is a part that exists from the change of one step up to that of another.
type timedPart struct {
	treePart
	kind     string
	from, to int // step numbers; to is 0 if it never disappears
}

// change describes how the tree gets the parts of a step.
type change struct {
	how   string        // one of the constants below
	delay time.Duration // of changeLate: behind the request; else between the change and what follows
}

const (
	changeBefore   = "before"   // by the world, before the step's request
	changeLate     = "late"     // by the world, while the request is being answered
	changeAsked    = "asked"    // by the world, while droid asks about a command
	changeCheckout = "checkout" // by a command of the model's that the user allows
	changePull     = "pull"
	changeCopy     = "copy"
)

// timedStep is a request of the editor, or an event that affects its processes.
type timedStep struct {
	do string
	change
	polite bool // the agent is left as an editor does it, so that hooks run at the end
	runs   int  // which command the model runs: among those that the files allow, or allowed it
}

func (s timedStep) String() string {
	return fmt.Sprintf("%s (change %s, %v)", s.do, s.how, s.delay)
}

type timedTree struct {
	git, factory bool   // it is a repository; it has a .factory from the start
	cwd          string // below the root
	never        bool   // --trust never
	answers      []string
	spare        string // --spare
	mine         bool   // the user has an MCP server
	steps        []timedStep
	parts        []timedPart
}

func (tree timedTree) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "git %t, .factory %t, cwd %q, --trust never %t, answers %q, spare %s, own server %t\n",
		tree.git, tree.factory, tree.cwd, tree.never, tree.answers, tree.spare, tree.mine)
	for k, step := range tree.steps {
		fmt.Fprintf(&b, "step %d: %v\n", k, step)
		for _, p := range tree.parts {
			switch {
			case p.from == k:
				fmt.Fprintf(&b, "  + %s %v", p.kind, p.treePart)
			case p.to > 0 && p.to == k:
				fmt.Fprintf(&b, "  - %s with %v\n", p.kind, p.canaries)
			}
		}
	}
	return b.String()
}

// The answers to a question about trust.
const (
	answerYes     = "Yes, trust this project"
	answerDismiss = "dismiss"
)

// timedSetup is the number of the first step behind the start of the agent and session/new.
const timedSetup = 2

// growTimedTree makes the timed tree of a seed.
func growTimedTree(seed uint64, h home, root, trap string) timedTree {
	g := &grower{Rand: rand.New(rand.NewPCG(seed, 53)), h: h, root: root, trap: trap}
	tree := timedTree{git: g.often(60), factory: g.often(70), cwd: g.one("", "sub"), never: g.often(20), spare: g.one("first", "first", "each", "none"), mine: g.often(20)}
	tree.answers = [][]string{{goOnWithout}, {goOnWithout}, {answerDismiss, goOnWithout}, {answerYes, goOnWithout}, {answerYes, goOnWithout}, {goOnWithout, answerYes, goOnWithout}}[g.IntN(6)]
	tree.steps = []timedStep{{do: "start"}, {do: "open"}}
	for range 3 + g.IntN(5) {
		do := g.one("probe", "probe", "probe", "probe", "turn", "turn", "turn", "load", "resume", "fork", "open", "kill", "restart", "task", "/compact", "mode", "always", "mcp", "/rewind 1", "/skills", "trust")
		if do == "restart" {
			tree.steps = append(tree.steps, timedStep{do: "start", polite: g.often(30)})
			do = "load"
		}
		tree.steps = append(tree.steps, timedStep{do: do})
	}
	tree.steps = append(tree.steps, timedStep{do: "probe"})
	for k := range tree.steps {
		s := &tree.steps[k]
		s.runs = g.IntN(1 << 20)
		switch {
		case s.do == "turn" && tree.git:
			s.how = g.one(changeCheckout, changePull, changeCopy, changeAsked, changeLate)
		case s.do == "turn":
			s.how = g.one(changeCopy, changeAsked, changeLate)
		case s.do == "kill" || s.do == "start" && k == 0:
			s.how = changeBefore
		default:
			s.how = g.one(changeBefore, changeBefore, changeLate)
		}
		s.delay = []time.Duration{0, 200 * time.Millisecond, 1300 * time.Millisecond}[g.IntN(3)]
		if s.how == changeLate {
			s.delay = time.Duration(g.IntN(500)) * time.Millisecond
		}
	}
	for n := range 2 + g.IntN(5) {
		from := g.IntN(len(tree.steps))
		if n == 0 && g.often(60) {
			from = 0
		}
		p := g.timedPart(tree, from == 0)
		if p.from = from; from+1 < len(tree.steps) {
			switch g.IntN(6) {
			case 0:
				p.to = from + 1 + g.IntN(len(tree.steps)-from-1)
			case 1: // a look before the next step finds nothing any more
				p.to = from + 1
			}
		}
		tree.parts = append(tree.parts, p)
	}
	return tree
}

// timedPart makes a part. Few paths are used, so that one part often takes the place of another.
// One of the start has nothing that keeps a session from opening, most of the time.
func (g *grower) timedPart(tree timedTree, start bool) timedPart {
	p := timedPart{treePart: treePart{files: map[string][]byte{}, links: map[string]string{}, mode: 0o644}}
	dir := tree.cwd
	if tree.git && g.often(50) {
		dir = "" // the root counts, too
	}
	at := func(name string, n *node) { p.files[filepath.Join(dir, ".factory", name)] = []byte(n.String()) }
	settings := g.one("settings.json", "settings.json", "settings.local.json")
	kind := g.IntN(100)
	if start && g.often(90) {
		kind = 40 + g.IntN(52)
	}
	switch {
	case kind < 22:
		p.kind = "allowed command"
		g.n++
		name := "al" + strconv.Itoa(g.n)
		p.canaries = append(p.canaries, name)
		at(settings, object("commandAllowlist", list(jsonText(name))))
	case kind < 38:
		p.kind = "model"
		if g.often(30) {
			at("config.json", object("custom_models", g.model(&p.treePart, true)))
		} else {
			at(settings, object("customModels", g.model(&p.treePart, false)))
		}
	case kind < 54:
		p.kind = "hook"
		if name := g.one(settings, "hooks.json", "hooks/hooks.json"); name == settings {
			at(name, object("hooks", g.hooks(&p.treePart)))
		} else {
			at(name, g.hooks(&p.treePart))
		}
	case kind < 68:
		p.kind = "server"
		at("mcp.json", object("mcpServers", object(g.one("a", "b", "a b"), g.server(&p.treePart))))
	case kind < 74:
		p.kind = "mode"
		p.canaries = append(p.canaries, "mode")
		at(settings, object("sessionDefaultSettings", object("autonomyLevel", jsonText("high"), "autonomyMode", jsonText("auto-high"))))
	case kind < 80:
		p.kind = "program"
		p.mode = 0o755
		name := g.one("ex", "ey")
		p.prompt = "/" + name
		p.files[filepath.Join(dir, g.one(".factory", ".agents"), "commands", name)] = []byte("#!/bin/sh\n" + g.canary(&p.treePart) + "\n")
	case kind < 84:
		p.kind = "preload"
		p.files[filepath.Join(tree.cwd, "bunfig.toml")] = []byte("preload = [\"./preload.js\"]\n")
		p.files[filepath.Join(tree.cwd, "preload.js")] = fmt.Appendf(nil, "require('child_process').execSync(%q)\n", g.canary(&p.treePart))
	case kind < 92: // a key stands there twice, so that it cannot be read
		p.kind = "unreadable"
		if g.often(50) {
			n := object("mcpServers", object(), "mcpServers", object("a", g.server(&p.treePart)))
			at("mcp.json", n)
		} else {
			hooks := g.hooks(&p.treePart)
			hooks.keys, hooks.kids = append([]string{hooks.keys[0]}, hooks.keys...), append([]*node{list()}, hooks.kids...)
			at("hooks.json", hooks)
		}
	default:
		p.kind = "twisted"
		before := len(g.parts)
		g.config(dir, filepath.Join(".factory", g.one("mcp.json", settings, "hooks.json", "hooks/hooks.json", "config.json")))
		p.treePart = g.parts[before]
	}
	return p
}

// entry is the content of a path.
type entry struct {
	data, link string
	isLink     bool
	mode       os.FileMode
	part       int // -1 for what is harmless
}

// entries returns the content of each path below the root after a step's change. A later part replaces an earlier one.
func (tree timedTree) entries(step int) map[string]entry {
	all := map[string]entry{filepath.Join(tree.cwd, "keep.txt"): {data: "keep\n", mode: 0o644, part: -1}}
	if tree.factory {
		all[filepath.Join(tree.cwd, ".factory", "skills", "x", "SKILL.md")] = entry{data: "---\nname: x\ndescription: x\n---\nx\n", mode: 0o644, part: -1}
	}
	for i, p := range tree.parts {
		if step < p.from || p.to > 0 && step >= p.to {
			continue
		}
		for path, data := range p.files {
			all[path] = entry{data: string(data), mode: p.mode, part: i}
		}
		for path, target := range p.links {
			all[path] = entry{link: target, isLink: true, part: i}
		}
	}
	return all
}

// present returns the canaries of the parts that exist completely.
func (tree timedTree) present(step int) map[string]bool {
	names := map[string]bool{}
	all := tree.entries(step)
	for i, p := range tree.parts {
		whole := func(path string) bool { e, ok := all[path]; return ok && e.part == i }
		if missing := func(path string) bool { return !whole(path) }; slices.ContainsFunc(slices.Collect(maps.Keys(p.files)), missing) ||
			slices.ContainsFunc(slices.Collect(maps.Keys(p.links)), missing) {
			continue
		}
		for _, name := range p.canaries {
			names[name] = true
		}
	}
	return names
}

// without returns the tree without a step.
func (tree timedTree) without(step int) timedTree {
	tree.steps = slices.Delete(slices.Clone(tree.steps), step, step+1)
	tree.parts = slices.Clone(tree.parts)
	for i := range tree.parts {
		p := &tree.parts[i]
		if p.from > step {
			p.from--
		}
		if p.to > step {
			p.to--
		}
		if p.to > 0 && p.to <= p.from {
			p.to = p.from + 1
		}
		p.from = min(p.from, len(tree.steps)-1)
	}
	return tree
}

// timedFigures are the results of a run of timed trees.
type timedFigures struct {
	trees, steps, refused, asked, yes, allowed atomic.Int64

	mu     sync.Mutex
	failed []uint64
	kinds  map[string]int // of what fired unasked, by the part and the step
}

// mostShrunk limits how many failing trees are shrunk.
const mostShrunk = 40

// noteFailed records a failing tree, and reports whether it is one of the first.
func (f *timedFigures) noteFailed(seed uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = append(f.failed, seed)
	return len(f.failed) <= mostShrunk/10
}

// count counts what has fired without permission.
func (f *timedFigures) count(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kinds == nil {
		f.kinds = map[string]int{}
	}
	f.kinds[what]++
}

// timedPlay is a running play of a timed tree.
type timedPlay struct {
	t     *testing.T
	h     home
	x     *traps
	model *modelserver.Server
	tree  timedTree
	trust string // --trust for all; "" for the tree's own
	root  string
	sum   *timedFigures

	c       *client
	s       session // its id is "" if none is open
	command int     // so many prompts had commands
	seen    int     // lines of c that were looked at
	wrong   []string

	mu      sync.Mutex
	step    int
	disk    map[string]entry
	stable  map[string]bool // canaries that existed before the step's request
	allowed map[string]bool // canaries that the user has allowed
	free    bool            // commands run without a question, as the user decided
	answers int             // to questions about trust, so far
}

// play plays a timed tree, and returns what fired without permission.
func (x *traps) play(t *testing.T, h home, model *modelserver.Server, tree timedTree, trust string, sum *timedFigures) []string {
	p := &timedPlay{t: t, h: h, x: x, model: model, tree: tree, trust: trust, root: filepath.Join(h.dir, "tree", "root"), sum: sum,
		disk: map[string]entry{}, stable: map[string]bool{}, allowed: map[string]bool{}}
	p.prepare()
	for k := range tree.steps {
		p.take(k)
		p.look(k)
		if len(p.wrong) > 0 {
			break
		}
	}
	p.leave(false)
	time.Sleep(settleTime)
	p.look(len(tree.steps) - 1)
	sum.trees.Add(1)
	return p.wrong
}

// prepare makes a home without anything of a play before, and the states of the tree for git.
func (p *timedPlay) prepare() {
	entries, err := os.ReadDir(p.h.dir)
	require.NoError(p.t, err)
	for _, e := range entries {
		require.NoError(p.t, os.RemoveAll(filepath.Join(p.h.dir, e.Name())))
	}
	require.NoError(p.t, modelserver.WriteSettings(p.h.dir, p.model.URL()))
	bin := filepath.Join(p.h.dir, "bin")
	for _, dir := range []string{bin, filepath.Join(p.h.dir, "marks"), filepath.Join(p.root, p.tree.cwd), p.h.work} {
		require.NoError(p.t, os.MkdirAll(dir, 0o755))
	}
	_ = p.x.fired(p.t, p.h) // of the play before
	for _, name := range append(p.commands(), "kept") {
		require.NoError(p.t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\ntouch "+filepath.Join(p.h.dir, "marks", name)+"\n"), 0o755))
	}
	p.h.env = slices.Clone(p.h.env)
	for i, v := range p.h.env {
		if strings.HasPrefix(v, "PATH=") {
			p.h.env[i] = v + ":" + bin
		}
	}
	p.h.work = filepath.Join(p.root, p.tree.cwd)
	if p.tree.mine { // no server of a part has the text by which it is known: docs/trust.md says what such a one can do
		mine := object("mcpServers", object("mine", object("command", jsonText("sh"), "args", list(jsonText("-c"), jsonText("cat >/dev/null # mine")))))
		require.NoError(p.t, os.WriteFile(filepath.Join(p.h.dir, ".factory", "mcp.json"), []byte(mine.String()), 0o600))
	}
	for k := range p.tree.steps {
		stage := p.stage(k)
		for path, e := range p.tree.entries(k) {
			if filepath.IsLocal(path) {
				put(filepath.Join(stage, path), e)
			}
		}
	}
	if p.tree.git {
		p.commit()
	}
}

func (p *timedPlay) stage(step int) string {
	return filepath.Join(p.h.dir, "stage", strconv.Itoa(step))
}

// commit makes a repository of the root in which the tree of each step is a commit on top of that of the previous step, with a branch, and
// checks out the current one.
func (p *timedPlay) commit() {
	up := filepath.Join(p.h.dir, "up")
	for _, args := range [][]string{{"init", "-q", "-b", "main", p.root}, {"init", "-q", "--bare", up}} {
		out, err := exec.Command("git", args...).CombinedOutput()
		require.NoError(p.t, err, "%s", out)
	}
	before := ""
	for k := range p.tree.steps {
		_, err := p.git("--work-tree="+p.stage(k), "add", "-A", "-f", ".")
		require.NoError(p.t, err)
		made, err := p.git("write-tree")
		require.NoError(p.t, err)
		args := []string{"commit-tree", "-m", "x", made}
		if before != "" {
			args = append(args, "-p", before)
		}
		before, err = p.git(args...)
		require.NoError(p.t, err)
		_, err = p.git("update-ref", "refs/heads/"+branch(k), before)
		require.NoError(p.t, err)
	}
	_, err := p.git("push", "-q", up, "refs/heads/step*:refs/heads/step*")
	require.NoError(p.t, err)
}

func branch(step int) string { return "step" + strconv.Itoa(step) }

// git runs git in the root as a user who lets the project run nothing.
func (p *timedPlay) git(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"--git-dir=" + filepath.Join(p.root, ".git"), "-c", "core.fsmonitor=false", "-c", "user.name=x", "-c", "user.email=x@x"}, args...)...)
	cmd.Env = p.h.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %q: %w: %s", args, err, out)
	}
	return strings.TrimSpace(string(out)), err
}

// put writes the content of a path. A file that is in the way stays.
func put(path string, e entry) {
	_ = os.MkdirAll(filepath.Dir(path), 0o755)
	if info, err := os.Lstat(path); err == nil && (e.isLink || info.Mode()&os.ModeSymlink != 0) {
		_ = os.Remove(path)
	}
	if e.isLink {
		_ = os.Symlink(e.link, path)
	} else if os.WriteFile(path, []byte(e.data), e.mode) == nil {
		_ = os.Chmod(path, e.mode)
	}
}

// apply changes the tree to that of a step.
func (p *timedPlay) apply(step int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	want := p.tree.entries(step)
	for path := range p.disk {
		if _, ok := want[path]; !ok {
			_ = os.Remove(filepath.Join(p.root, path))
		}
	}
	for path, e := range want {
		if had, ok := p.disk[path]; !ok || had != e {
			put(filepath.Join(p.root, path), e)
		}
	}
	p.disk = want
	if p.tree.git { // git takes the files for those of the step
		_, err := p.git("symbolic-ref", "HEAD", "refs/heads/main")
		if err == nil {
			_, err = p.git("update-ref", "HEAD", branch(step))
		}
		if err == nil {
			_, err = p.git("read-tree", branch(step))
		}
		if err != nil {
			p.t.Log(err)
		}
	}
}

// changes reports whether a step changes the tree.
func (p *timedPlay) changes(k int) bool {
	return k > 0 && !maps.Equal(p.tree.entries(k-1), p.tree.entries(k))
}

// take executes a step.
func (p *timedPlay) take(k int) {
	s := p.tree.steps[k]
	p.mu.Lock()
	p.step = k
	p.stable = p.tree.present(max(k-1, 0))
	p.mu.Unlock()
	p.sum.steps.Add(1)
	var changing sync.WaitGroup
	switch {
	case k == 0:
		p.apply(0)
	case s.how == changeBefore && p.changes(k) && s.do == "trust" && p.c != nil && p.s.id != "": // a yes to what was shown before
		p.prompt("/trust")
		p.apply(k)
	case s.how == changeBefore && p.changes(k):
		p.apply(k)
		p.mu.Lock()
		p.stable = p.tree.present(k)
		p.mu.Unlock()
		time.Sleep(s.delay)
	case s.how == changeLate && p.changes(k):
		changing.Go(func() {
			time.Sleep(s.delay)
			p.apply(k)
		})
	}
	p.request(k, s)
	changing.Wait()
	p.apply(k)
}

// request makes the request of a step.
func (p *timedPlay) request(k int, s timedStep) {
	if p.c == nil && s.do != "start" {
		p.start()
	}
	switch s.do {
	case "start":
		p.leave(s.polite)
		p.start()
		return
	case "kill":
		for _, droid := range p.h.processes(p.t) {
			if droid.droid {
				_ = syscall.Kill(droid.pid, syscall.SIGKILL)
			}
		}
		return
	}
	if p.s.id == "" && s.do != "load" && s.do != "resume" || s.do == "open" {
		p.opens("session/new", map[string]any{"cwd": p.h.work, "mcpServers": []any{}})
		return
	}
	if p.s.id == "" {
		return // no session was ever opened
	}
	switch s.do {
	case "load", "resume", "fork":
		p.opens("session/"+s.do, p.h.params(p.s.id))
	case "mode":
		for _, mode := range []string{"spec", "normal"} {
			p.call("session/set_mode", map[string]any{"sessionId": p.s.id, "modeId": mode})
		}
	case "/compact", "/rewind 1", "/skills":
		p.prompt(s.do)
	case "mcp":
		p.prompt("/mcp")
		if p.tree.mine {
			p.prompt("/mcp disable mine")
			p.prompt("/mcp enable mine")
		}
	case "trust":
		p.prompt("/trust yes")
	case "task":
		p.model.On(p.name("task"), modelserver.Step{Tools: []modelserver.ToolCall{{Name: "Task", Args: map[string]any{
			"subagent_type": "worker", "description": "Look around", "prompt": "Read a.txt", "complexity": "light", "run_in_background": false}}}}, modelserver.Step{Text: "It failed."})
		p.prompt(p.name("task"))
	case "always":
		p.model.On(p.name("always"), modelserver.Step{Tools: []modelserver.ToolCall{execute("", "kept")}}, modelserver.Step{Text: "Done."})
		p.prompt(p.name("always"))
	case "turn":
		p.model.On(p.name("turn"), modelserver.Step{Tools: []modelserver.ToolCall{execute("", p.changing(k, s))}},
			modelserver.Step{Tools: []modelserver.ToolCall{execute("", p.probed(s))}}, modelserver.Step{Text: "Done."})
		p.prompt(p.name("turn"))
	case "probe":
		if typed := p.typed(k); typed != "" && s.runs%2 == 0 {
			p.prompt(typed)
		}
		p.model.On(p.name("probe"), modelserver.Step{Tools: []modelserver.ToolCall{execute("", p.probed(s))}}, modelserver.Step{Text: "Done."})
		p.prompt(p.name("probe"))
	}
}

// name returns the name of the next prompt's script.
func (p *timedPlay) name(of string) string { return fmt.Sprintf("%s-%d-", of, p.command) }

// typed returns a prompt that makes droid run a program of the tree, "" for none.
func (p *timedPlay) typed(step int) string {
	for _, part := range p.tree.parts {
		if part.kind == "program" && part.from <= step {
			return part.prompt
		}
	}
	return ""
}

// commands returns those that the tree's files allow.
func (p *timedPlay) commands() (names []string) {
	for _, part := range p.tree.parts {
		for _, c := range part.canaries {
			if strings.HasPrefix(c, "al") && c != "allowed" {
				names = append(names, c)
			}
		}
	}
	return names
}

// probed returns the command that shows whether one runs without permission.
func (p *timedPlay) probed(s timedStep) string {
	all := append(p.commands(), "touch "+filepath.Join(p.h.dir, "marks", "allowed"))
	return all[s.runs%len(all)]
}

// changing returns the model's command that changes the tree, or during which it changes.
func (p *timedPlay) changing(k int, s timedStep) string {
	var command string
	switch {
	case s.how == changeCheckout:
		command = "git -C " + p.root + " checkout -q -f " + branch(k)
	case s.how == changePull:
		command = "git -C " + p.root + " pull -q --ff-only " + filepath.Join(p.h.dir, "up") + " " + branch(k)
	case s.how == changeCopy:
		command = "cp -r " + p.stage(k) + "/. " + p.root
	default:
		command = "true"
	}
	if s.how == changeLate {
		command += "; sleep 1"
	} else if s.delay > 0 {
		command += fmt.Sprintf("; sleep %.1f", s.delay.Seconds())
	}
	return command + " # the step's own"
}

// permit answers the agent's questions.
func (p *timedPlay) permit(asked permission) string {
	text := string(asked.ToolCall)
	p.mu.Lock()
	k, steps := p.step, p.tree.steps
	p.mu.Unlock()
	switch {
	case strings.Contains(text, "Trust this project?"):
		return p.answer(asked, text)
	case strings.Contains(text, "# the step's own"):
		if steps[k].how == changeAsked && p.changes(k) {
			p.apply(k)
		}
		return asked.Option("allow_once")
	case strings.Contains(text, "kept") && steps[k].do == "always":
		return asked.lastOf("allow_always")
	}
	return asked.Option("reject_once")
}

// answer answers a question about trust.
func (p *timedPlay) answer(asked permission, text string) string {
	p.sum.asked.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := p.tree.answers[min(p.answers, len(p.tree.answers)-1)]
	p.answers++
	if answer == answerDismiss {
		return ""
	}
	if answer == answerYes {
		p.allow(text)
	}
	return trusts(answer)(asked)
}

var canaryName = regexp.MustCompile(`\b(?:c|al)[0-9]+\b`)

// allow records a yes to everything that exists, and to what the text names. The caller has locked p.
func (p *timedPlay) allow(text string) {
	p.sum.yes.Add(1)
	for name := range p.stable {
		p.allowed[name] = true
	}
	for _, name := range canaryName.FindAllString(text, -1) {
		p.allowed[name] = true
	}
	p.free = p.free || p.allowed["mode"] || strings.Contains(text, "sessions start in a mode that asks less")
}

// start starts the agent.
func (p *timedPlay) start() {
	trust := p.trust
	if trust == "" && p.tree.never {
		trust = "never"
	}
	args := []string{"--spare", p.tree.spare}
	if trust != "" {
		args = append(args, "--trust", trust)
	}
	p.c = startAgent(p.t, p.h, args...).onPermission(p.permit).initialize()
	p.s.client, p.seen = p.c, 0
}

// leave ends the agent.
func (p *timedPlay) leave(polite bool) {
	if p.c == nil {
		return
	}
	if !polite { // which takes seconds
		_ = p.c.cmd.Process.Kill()
		p.h.endTools(p.t)
	}
	p.c.end(p.h)
	p.c = nil
}

func (p *timedPlay) call(method string, params any) line {
	_, answer := p.c.response(p.c.request(method, params), patience)
	return answer
}

// opens opens a session by a method.
func (p *timedPlay) opens(method string, params map[string]any) {
	answer := p.call(method, params)
	if answer.Error != nil {
		p.sum.refused.Add(1)
		return
	}
	var result newSession
	if len(answer.Result) > 0 {
		require.NoError(p.t, json.Unmarshal(answer.Result, &result))
	}
	if result.SessionID != "" {
		p.s.id = result.SessionID
	}
}

// prompt sends a prompt and waits for its end.
func (p *timedPlay) prompt(text string) {
	p.command++
	end := p.s.prompt(text).end(patience)
	if end.Err != nil {
		p.sum.refused.Add(1)
	}
	if said := end.text(); strings.HasPrefix(text, "/trust yes") && strings.Contains(said, "Trusted, and remembered for") {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.allow(said)
	}
}

// look records what has fired without permission.
func (p *timedPlay) look(k int) {
	names := p.x.fired(p.t, p.h)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.c != nil {
		for _, l := range p.c.since(p.seen) {
			if l.Method == "session/update" && strings.Contains(l.raw, `"currentModeId":"auto-`) {
				names = append(names, "mode")
			}
			p.seen++
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		isCommand := strings.HasPrefix(name, "al") || name == "mode"
		switch {
		case name == "kept":
		case name == "mode" && p.tree.steps[k].do == "always":
			p.free = true // the answer says so
		case p.allowed[name], isCommand && p.free:
			p.sum.allowed.Add(1)
		default:
			p.wrong = append(p.wrong, fmt.Sprintf("%s fires at step %d, %v", name, k, p.tree.steps[k]))
			p.count(name, k)
		}
	}
}

// count counts what has fired by the kind of the part, and by the step.
func (p *timedPlay) count(name string, k int) {
	kind := name
	for _, part := range p.tree.parts {
		if slices.Contains(part.canaries, name) {
			kind = part.kind
		}
	}
	p.sum.count(kind + " at " + p.tree.steps[k].do)
}

// timedShrinkTime is how long a failing tree is shrunk.
const timedShrinkTime = 4 * time.Minute

// shrinkTimed removes parts and steps while the tree still fails, in one of two plays.
func (x *traps) shrinkTimed(tree timedTree, play func(timedTree) []string) timedTree {
	end := time.Now().Add(timedShrinkTime)
	fails := func(tree timedTree) bool {
		for range 2 {
			if time.Now().Before(end) && len(play(tree)) > 0 {
				return true
			}
		}
		return false
	}
	for i := len(tree.parts) - 1; i >= 0; i-- {
		fewer := tree
		if fewer.parts = slices.Delete(slices.Clone(tree.parts), i, i+1); fails(fewer) {
			tree = fewer
		}
	}
	for k := len(tree.steps) - 1; k >= timedSetup; k-- {
		if fewer := tree.without(k); fails(fewer) {
			tree = fewer
		}
	}
	return tree
}

// Whatever changes in a project while sessions work in it, nothing runs and nothing is sent without permission.
func TestTimedTrees(t *testing.T) {
	ofAdapter(t)
	version, seeds, trust := newDroid, slices.Clone(timedSeeds), ""
	if told := strings.Fields(os.Getenv(timedTreesEnv)); len(told) >= 3 {
		version = told[0]
		count, err := strconv.Atoi(told[1])
		require.NoError(t, err)
		first, err := strconv.ParseUint(told[2], 10, 64)
		require.NoError(t, err)
		seeds = nil
		for seed := first; seed < first+uint64(count); seed++ {
			seeds = append(seeds, seed)
		}
		if len(told) > 3 {
			trust = told[3]
		}
	} else if !testing.Short() {
		week := uint64(time.Now().Unix() / (7 * 24 * 3600) * 1000) // other ones each week
		for seed := week; seed < week+10; seed++ {
			seeds = append(seeds, seed)
		}
	}
	t.Parallel()
	sum := new(timedFigures)
	t.Run("all", func(t *testing.T) {
		for _, seed := range seeds {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				model := newModel(t)
				h := newHome(t, version, model.URL())
				x := newTraps(t)
				tree := growTimedTree(seed, h, filepath.Join(h.dir, "tree", "root"), x.url)
				wrong := x.play(t, h, model, tree, trust, sum)
				if len(wrong) == 0 {
					return
				}
				if sum.noteFailed(seed) && len(seeds) <= mostShrunk {
					tree = x.shrinkTimed(tree, func(tree timedTree) []string { return x.play(t, h, model, tree, trust, new(timedFigures)) })
				}
				t.Errorf("seed %d: %s\nsmallest tree:\n%v", seed, strings.Join(wrong, "; "), tree)
			})
		}
	})
	t.Logf("droid %s: %d plays with %d steps, %d requests refused; %d questions about trust, %d yes, after which %d canaries fired; %d of %d trees failed: %v",
		version, sum.trees.Load(), sum.steps.Load(), sum.refused.Load(), sum.asked.Load(), sum.yes.Load(), sum.allowed.Load(), len(sum.failed), len(seeds), sum.failed)
	for _, kind := range slices.Sorted(maps.Keys(sum.kinds)) {
		t.Logf("fired unasked: %s: %d", kind, sum.kinds[kind])
	}
}
