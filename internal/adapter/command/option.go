package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/session"
)

// settingCommands returns the commands that show or set a setting, for clients without pickers.
func settingCommands() (all []session.Command) {
	for _, s := range options.Settings() {
		if s.Command != "" {
			takesBack := ""
			if s.ID == options.Mode {
				takesBack = anything
			}
			all = append(all, session.Command{Name: s.Command, Description: s.Summary, Hint: s.Hint, Form: anything, Run: settingCommand(s).run, Kind: s.Scope.Setting(), TakesBack: takesBack})
		}
	}
	return all
}

// settingCommand is the command of a setting.
type settingCommand options.Setting

func (c settingCommand) run(ctx context.Context, s *session.Session, value string) (string, error) {
	if value == "" {
		return s.DescribeOption(ctx, c.ID, c.Command)
	}
	failure := s.SetOption(ctx, c.ID, value)
	if failure == nil {
		return s.OptionTitle(c.ID, value) + ".", nil
	}
	switch option, known := s.Option(c.ID); {
	case !known:
	case option == nil:
		failure.Text, _ = s.DescribeOption(ctx, c.ID, c.Command)
	case !slices.ContainsFunc(option.Options, func(v protocol.OptionValue) bool { return v.Value == value }):
		failure.Text = fmt.Sprintf("There is no %s “%.80s”. `/%s` lists them.", strings.ToLower(string(option.Name)), value, c.Command)
	}
	return "", failure
}
