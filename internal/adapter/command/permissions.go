package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/rules"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// permissionsCommand shows what is allowed, denied and blocked for good, takes back a permission, or says what lets a
// command run.
func permissionsCommand(ctx context.Context, s *session.Session, args string) (string, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(args), " ")
	if word == "forget" {
		return takeBack(ctx, s, strings.TrimSpace(rest))
	}
	known, unread, err := s.Rules(ctx)
	switch {
	case err != nil:
		return "", session.Failed("The lists were not read", err)
	case word == "why":
		return whyNotAsked(ctx, s, known, strings.TrimSpace(rest)), nil
	}
	return listRules(known, unread), nil
}

// whose returns whose file a rule comes from, in words.
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

// listRules lists rules by file.
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

// whyNotAsked says what the lists make of a command: by droid's own check, where it has one.
func whyNotAsked(ctx context.Context, s *session.Session, known []rules.Rule, command string) string {
	mode := modeDecides(s.Mode())
	check, checks, err := s.CheckRules(ctx, command)
	if !checks {
		return "As droid-acp reads the lists, since no droid runs that has a check of its own: " + asRead(known, command, mode)
	}
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

// foundIn names the files with an entry that droid reduces to this pattern, since droid itself names none.
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

// takeBack takes a permission back.
func takeBack(ctx context.Context, s *session.Session, text string) (string, error) {
	removed, left, err := s.TakeBackRules(ctx, text)
	if err != nil {
		return "", err
	}
	others, stays := "", false
	for _, k := range left {
		switch {
		case k.Removable():
			return "", errors.New("droid writes " + entry(text) + " again each time it is taken back. End all droids, and remove it from " + entry(k.File) + " by hand.")
		case k.Kind == rules.Allowed:
			others, stays = entry(text)+" stands in "+placeOf(k)+", which is not yours alone. Remove it there.", true
		case others == "":
			others = entry(text) + " is no permission: without it more would run. Remove it by hand where you want that."
		}
	}
	if removed {
		others = "Taken back: " + entry(text) + ". The next prompt of this session goes by that; droids of other sessions that run go by the old list until they end. " + others
	}
	if stays {
		return "", errors.New(others)
	}
	return cmp.Or(others, "There is no such entry. `/permissions` lists them."), nil
}
