package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// skillsCommand lists droid's skills, or switches one on or off for all projects of the user.
func skillsCommand(r *commandRun, args string) {
	verb, name := cutWord(args)
	if verb == "" {
		r.ask("droid did not tell its skills", func(ctx context.Context, client *droid.Client) (string, error) {
			skills, err := client.Skills(ctx)
			return skillTable(skills), err
		})
		return
	}
	client := r.droid()
	if client == nil {
		return
	}
	failed, state := "droid did not "+verb+" the skill "+name, map[string]string{"enable": "on", "disable": "off"}[verb]
	if !r.looks(failed, func(ctx context.Context) error {
		if err := client.Version().Needs(stream.SwitchesSkills); err != nil {
			return err
		}
		skills, err := client.Skills(ctx)
		if err == nil && !slices.ContainsFunc(skills, func(s droid.Skill) bool { return s.Name == name }) {
			err = errors.New("it has none of this name; `/skills` lists them")
		}
		return err
	}) {
		return
	}
	r.do(failed, name+" is "+state+" now", func(ctx context.Context) (string, error) {
		return fmt.Sprintf("%s is %s, in all your projects.", name, state), client.SwitchSkill(ctx, name, verb == "enable")
	})
	r.s.commands.TurnEnded(time.Now()) // the menu has what can be typed
}

// skillTable is a line for each skill.
func skillTable(skills []droid.Skill) string {
	if len(skills) == 0 {
		return "droid has no skills."
	}
	var b strings.Builder
	for _, s := range skills {
		off := ""
		if s.Enabled != nil && !*s.Enabled {
			off = ", off"
		}
		sentence, _ := render.CutSentence(render.FirstLine(s.Description))
		fmt.Fprintf(&b, "- %s (%s%s): %s\n", markdown.Code(visible.Line(s.Name)), visible.Line(s.Location), off, visible.Line(sentence))
	}
	return b.String()
}
