package session

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/rules"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/visible"
)

const (
	// ruleCheckTime bounds how long droid may take to say what its lists make of a command.
	ruleCheckTime = 10 * time.Second
	// rulesSettle is when droid has written a file of settings if it was about to (0.99 to 0.225).
	rulesSettle = 2500 * time.Millisecond
	// rulesTries is how often a permission is taken back that droid writes again.
	rulesTries = 3
)

var errRuleCheck = errors.New("droid did not say within 10 s")

// Rules reads the lists that count in this session; unread says which of the files could not be read.
func (s *Session) Rules(ctx context.Context) (known []rules.Rule, unread, err error) {
	cwd, home := s.cwd, droid.Home(os.Environ())
	type read struct {
		known  []rules.Rule
		unread error
	}
	err = s.callBounded(ctx, func(ctx context.Context) error {
		got, err := files.CallBounded(ctx, s.deps.Calls, "Rules.Read", cwd, func(cwd string) (got read, _ error) {
			got.known, got.unread = rules.Read(files.RealPath(cwd), files.RealPath(home), os.Getenv(droid.EnvSettings))
			return got, nil
		})
		known, unread = got.known, got.unread
		return err
	})
	if client := s.proc.Client(); client != nil && client.Excluded() != nil && len(client.Excluded().Items) > 0 {
		var asked []string
		for _, k := range known {
			if k.Kind == rules.Allowed && k.Owner == rules.User {
				asked = append(asked, k.Text)
			}
		}
		for _, i := range client.Excluded().Of(projectconfig.Allowed) {
			asked = append(asked, i.Does)
		}
		slices.Sort(asked)
		for _, text := range slices.Compact(asked) {
			known = append(known, rules.Rule{Kind: rules.Denied, Text: text, Owner: rules.Process})
		}
	}
	return known, unread, err
}

// CheckRules asks droid how its lists classify a command. checks is false if no droid runs that has such a check.
func (s *Session) CheckRules(ctx context.Context, command string) (check droid.RuleCheck, checks bool, err error) {
	client, cwd := s.proc.Client(), s.cwd
	if client == nil || !client.Version().Supports(stream.ChecksRules) {
		return check, false, nil
	}
	err = s.callWithin(ctx, ruleCheckTime, errRuleCheck, func(ctx context.Context) (err error) {
		check, err = client.CheckRules(ctx, cwd, command)
		return err
	})
	return check, true, err
}

// Mode returns the mode of the session.
func (s *Session) Mode() stream.Mode { return s.options.Mode() }

// NamesRule reports whether a text names a rule as the list shows it.
func NamesRule(text string, k rules.Rule) bool {
	return strings.TrimSpace(visible.Line(text)) == strings.TrimSpace(visible.Line(k.Text))
}

// TakeBackRules takes back all rules of this text that may be (Removable), and looks again whether droid has written them again. It returns
// whether there was one, and those of this text that are left: if there was one, droid writes them again each time. Neither a cancel nor
// droid's death ends it. When it returns, the droid of this session, which does not read a list again by itself, is being ended if a rule was
// removed.
func (s *Session) TakeBackRules(ctx context.Context, text string) (removed bool, left []rules.Rule, err error) {
	ctx = s.uncancellable(ctx)
	defer func() {
		if removed {
			s.endAfterStart(ctx, "it goes by a list of commands that was changed")
		}
	}()
	for try := 0; ; try++ {
		known, unread, err := s.Rules(ctx)
		left = slices.DeleteFunc(known, func(k rules.Rule) bool { return !NamesRule(text, k) })
		switch {
		case err != nil && removed:
			return removed, nil, Failed("It was taken back. Whether droid has written it again is not known", err)
		case err == nil && !removed && len(left) == 0:
			err = unread
		}
		if err != nil {
			return removed, nil, Failed("The lists were not read", err)
		}
		mine := slices.DeleteFunc(slices.Clone(left), func(k rules.Rule) bool { return !k.Removable() })
		if len(mine) == 0 || try == rulesTries {
			return removed, left, nil
		}
		for _, k := range mine {
			err := s.callBounded(ctx, func(ctx context.Context) error {
				_, err := files.CallBounded(ctx, s.deps.Calls, "Rules.TakeBack", k.File, files.NoResult(func() error { return rules.Remove(ctx, files.Locks{}, k) }))
				return err
			})
			if err != nil {
				return removed, nil, Failed("It was not taken back", err)
			}
			removed = true
		}
		s.unlocked(ctx, func(ctx context.Context) {
			select {
			case <-time.After(rulesSettle):
			case <-ctx.Done():
			}
		})
	}
}
