package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/rules"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// permissionsCommand shows what is allowed, denied and blocked for good, takes back a permission, or says what lets a
// command run.
func permissionsCommand(r *commandRun, args string) {
	known, unread, err := r.rules()
	word, rest, _ := strings.Cut(strings.TrimSpace(args), " ")
	switch rest = strings.TrimSpace(rest); {
	case err != nil:
		r.fail("The lists were not read", err)
	case word == "why":
		r.reply(r.whyNotAsked(known, rest))
	case word == "forget":
		r.reply(r.takeBack(known, rest))
	default:
		r.reply(listRules(known, unread))
	}
}

// rules reads the lists that count in this session; unread says which of the files could not be read.
func (r *commandRun) rules() (known []rules.Rule, unread, err error) {
	s, cwd, home := r.s, r.s.cwd, droid.Home(os.Environ())
	type read struct {
		known  []rules.Rule
		unread error
	}
	err = r.unlocked(func(ctx context.Context) error {
		got, err := files.CallBounded(ctx, s.agent.calls, "Rules.Read", cwd, func(cwd string) (got read, _ error) {
			got.known, got.unread = rules.Read(files.RealPath(cwd), files.RealPath(home), os.Getenv(droid.EnvSettings))
			return got, nil
		})
		known, unread = got.known, got.unread
		return err
	})
	if client := s.proc.Client(); client != nil && client.Without() != nil && len(client.Without().Items) > 0 {
		var asked []string
		for _, k := range known {
			if k.Kind == rules.Allowed && k.Owner == rules.User {
				asked = append(asked, k.Text)
			}
		}
		for _, i := range client.Without().Of(projectconfig.Allowed) {
			asked = append(asked, i.Does)
		}
		slices.Sort(asked)
		for _, text := range slices.Compact(asked) {
			known = append(known, rules.Rule{Kind: rules.Denied, Text: text, Owner: rules.Process})
		}
	}
	return known, unread, err
}

// whose says whose file a rule stands in.
func whose(k rules.Rule) string {
	switch {
	case k.Owner == rules.User:
		return "Yours, in "
	case k.Owner == rules.Project:
		return "The project's, in "
	case k.Owner == rules.Local:
		return "Yours for this project, in "
	case k.File == "":
		return "By droid-acp, as you have not trusted this project"
	}
	return "Of $" + droid.EnvSettings + ", in "
}

func entry(text string) string { return markdown.Code(visible.Line(text)) }

// means reports whether a text names a rule as the list shows it.
func means(text string, k rules.Rule) bool {
	return strings.TrimSpace(visible.Line(text)) == strings.TrimSpace(visible.Line(k.Text))
}

// effect says what a rule does.
func effect(k rules.Rule) string {
	key := rules.Key(k.Text)
	switch k.Kind {
	case rules.Denied:
		return "asked about: " + entry(k.Text)
	case rules.Blocked:
		return "never run: " + entry(k.Text)
	case rules.MCP:
		return "allowed, MCP: " + entry(k.Text)
	}
	switch key {
	case strings.TrimSpace(k.Text):
		return "allowed: " + entry(k.Text)
	case "":
		return "allowed: " + entry(k.Text) + ", by which droid may let nothing run"
	}
	return "allowed: " + entry(k.Text) + ", which lets **every** " + entry(key) + " run"
}

// listRules lists rules by the files that they stand in.
func listRules(known []rules.Rule, unread error) string {
	var b strings.Builder
	last := "?"
	for _, k := range known {
		if file := whose(k) + k.File; file != last {
			last = file
			where := whose(k)
			if k.File != "" {
				where += entry(k.File)
			}
			fmt.Fprintf(&b, "\n%s:\n\n", where)
		}
		fmt.Fprintf(&b, "- %s\n", effect(k))
	}
	if len(known) == 0 {
		b.WriteString("No lasting permissions. The mode decides what is asked.\n")
	} else {
		b.WriteString("\nAn entry counts for any arguments, and for redirections to any file; what is asked about or never run wins. " +
			"`/permissions forget ENTRY` takes one of yours back, `/permissions why COMMAND` says what lets a command run.\n")
	}
	if unread != nil {
		b.WriteString("\nNot read: " + visible.Line(unread.Error()) + ".\n")
	}
	return strings.TrimSpace(b.String())
}

const (
	// ruleCheckTime bounds how long droid may take to say what its lists make of a command.
	ruleCheckTime = 10 * time.Second
	// rulesSettle is when droid has written a file of settings if it was about to (0.99 to 0.225).
	rulesSettle = 2500 * time.Millisecond
	// rulesTries is how often a permission is taken back that droid writes again.
	rulesTries = 3
)

var errRuleCheck = errors.New("droid did not say within 10 s")

// whyNotAsked says what the lists make of a command: by droid's own check, where it has one.
func (r *commandRun) whyNotAsked(known []rules.Rule, command string) string {
	mode := modeDecides(r.s.options.Mode())
	client, cwd := r.s.proc.Client(), r.s.cwd
	if client == nil || !client.Version().Has(stream.ChecksRules) {
		return "As droid-acp reads the lists, since no droid runs that has a check of its own: " + asRead(known, command, mode)
	}
	var check droid.RuleCheck
	err := r.unlockedFor(ruleCheckTime, errRuleCheck, func(ctx context.Context) (err error) {
		check, err = client.CheckRules(ctx, cwd, command)
		return err
	})
	if err != nil {
		return "As droid-acp reads the lists, since droid's own check failed (" + visible.Line(err.Error()) + "): " + asRead(known, command, mode)
	}
	// It does not read the settings of one process, and nothing of a project that is not trusted.
	besides := slices.DeleteFunc(slices.Clone(known), func(k rules.Rule) bool {
		return k.Owner == rules.User || check.Project && k.Owner != rules.Process
	})
	if v := rules.Reading(besides, command); len(v.Matches) > 0 && v.Matches[0].Kind != rules.Allowed {
		return "As droid-acp reads the lists that droid's own check leaves out: " + asRead(besides, command, mode)
	}
	text := "By droid's own check: "
	var by []string
	for _, p := range check.Patterns {
		by = append(by, entry(p)+foundIn(known, p))
	}
	switch check.Decision {
	case "allow":
		text += "it runs without a question, by " + strings.Join(by, ", ") + "."
	case "ask":
		text += "droid asks before it, whatever the mode, by " + strings.Join(by, ", ") + "."
	case "no-match":
		text += "no list has it. The " + mode
	default:
		text += visible.Line(check.Decision) + ", by " + strings.Join(by, ", ") + "."
	}
	if !check.Project {
		text += " What the project brings was not read, as you have not trusted it."
	}
	return text
}

// modeDecides says what becomes of a command that no list has.
func modeDecides(mode stream.Mode) string {
	text := "mode decides, here " + mode.Title()
	for _, m := range stream.Modes() {
		if m.Mode == mode {
			text += ": " + strings.ToLower(m.Description[:1]) + m.Description[1:]
		}
	}
	return text + "."
}

// foundIn says in which files an entry is that droid cuts down to this pattern; droid names none.
func foundIn(known []rules.Rule, pattern string) string {
	var where []string
	for _, k := range known {
		if k.Text == pattern || rules.Key(k.Text) == pattern {
			where = append(where, placeOf(k))
		}
	}
	if len(where) == 0 {
		return " (a list of droid's own)"
	}
	return " (" + strings.Join(slices.Compact(where), ", ") + ")"
}

func placeOf(k rules.Rule) string {
	if k.File == "" {
		return "what droid-acp gives to this droid"
	}
	return entry(k.File)
}

// asRead says what the lists make of a command as this program reads them, and, where they decide nothing, what does.
func asRead(known []rules.Rule, command, mode string) string {
	v := rules.Reading(known, command)
	var by []string
	for _, k := range v.Matches {
		if e := entry(k.Text) + foundIn([]rules.Rule{k}, k.Text); !slices.Contains(by, e) {
			by = append(by, e)
		}
	}
	list := strings.Join(by, ", ")
	switch {
	case len(v.Matches) > 0 && v.Matches[0].Kind == rules.Blocked:
		return "it never runs, by " + list + "."
	case len(v.Matches) > 0 && v.Matches[0].Kind == rules.Denied:
		return "droid asks before it, whatever the mode, by " + list + "."
	case v.Allows():
		return "it runs without a question, by " + list + ", unless a list of droid's own has it asked about."
	case v.Unread:
		return "whether an entry lets it run is not known, since it has a part that only a shell reads."
	}
	return "no entry lets " + entry(strings.TrimSpace(v.Open)) + " run, but droid has lists of its own. Else the " + mode
}

// takeBack takes a permission back, and looks again whether droid has written it anew.
func (r *commandRun) takeBack(known []rules.Rule, text string) string {
	var mine []rules.Rule
	others := ""
	for _, k := range known {
		switch {
		case !means(text, k):
		case k.TakenBack():
			mine = append(mine, k)
		case k.Kind == rules.Allowed:
			others = entry(text) + " stands in " + placeOf(k) + ", which is not yours alone. Remove it there."
		case others == "":
			others = entry(text) + " is no permission: without it more would run. Remove it by hand where you want that."
		}
	}
	if len(mine) == 0 {
		return cmp.Or(others, "There is no such entry. `/permissions` lists them.")
	}
	for range rulesTries {
		for _, k := range mine {
			err := r.unlocked(func(ctx context.Context) error {
				_, err := files.CallBounded(ctx, r.s.agent.calls, "Rules.TakeBack", k.File, files.NoResult(func() error { return rules.TakeBack(files.Locks{}, k) }))
				return err
			})
			if err != nil {
				return "It was not taken back: " + err.Error() + "."
			}
		}
		r.s.unlocked(r.s.Context, func(context.Context) {
			select {
			case <-time.After(rulesSettle):
			case <-r.work.Done():
			}
		})
		now, _, err := r.rules()
		if err != nil {
			return "It was taken back. Whether droid has written it again is not known: " + err.Error() + "."
		}
		mine = slices.DeleteFunc(now, func(k rules.Rule) bool { return !means(text, k) || !k.TakenBack() })
		if len(mine) == 0 {
			return "Taken back: " + entry(text) + r.nowCounts() + others
		}
	}
	return "droid writes " + entry(text) + " again each time it is taken back. End all droids, and remove it from " + entry(mine[0].File) + " by hand."
}

// nowCounts says for which droids a list counts that was changed. The droid of this session, which does not read it
// again by itself, is ended.
func (r *commandRun) nowCounts() string {
	if r.over() {
		return ". droids that run go by it until they end. "
	}
	r.s.endDroid(replaced, "it goes by a list of commands that was changed")
	return ". The next prompt of this session goes by that; droids of other sessions that run go by the old list until they end. "
}
