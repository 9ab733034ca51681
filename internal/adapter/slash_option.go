package adapter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/options"
)

// The commands that show or set a config option, for clients without pickers.

func modelCommand(ctx context.Context, s *Session, value string) (string, error) {
	return showOrSet(ctx, s, options.Model, "model", value)
}

func modeCommand(ctx context.Context, s *Session, value string) (string, error) {
	return showOrSet(ctx, s, options.Mode, "mode", value)
}

func effortCommand(ctx context.Context, s *Session, value string) (string, error) {
	return showOrSet(ctx, s, options.Effort, "effort", value)
}

func specModelCommand(ctx context.Context, s *Session, value string) (string, error) {
	return showOrSet(ctx, s, options.SpecModel, "spec-model", value)
}

func followUpCommand(ctx context.Context, s *Session, value string) (string, error) {
	return showOrSet(ctx, s, options.FollowUp, "follow-up", value)
}

// showOrSet is the command of this name for an option.
func showOrSet(ctx context.Context, s *Session, id, command, value string) (string, error) {
	if value == "" {
		return s.DescribeOption(ctx, id, command)
	}
	failure := s.SetOption(ctx, id, value)
	if failure == nil {
		return s.OptionTitle(id, value) + ".", nil
	}
	switch option, known := s.Option(id); {
	case !known:
	case option == nil:
		failure.Text, _ = s.DescribeOption(ctx, id, command)
	case !slices.ContainsFunc(option.Options, func(v protocol.OptionValue) bool { return v.Value == value }):
		failure.Text = fmt.Sprintf("There is no %s “%.80s”. `/%s` lists them.", strings.ToLower(string(option.Name)), value, command)
	}
	return "", failure
}
