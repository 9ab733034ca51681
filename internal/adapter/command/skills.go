package command

import (
	"context"
	"fmt"
	"strings"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/render"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// skillsCommand lists droid's skills, or switches one on or off for all projects of the user.
func skillsCommand(ctx context.Context, s *session.Session, args string) (string, error) {
	verb, name := cutWord(args)
	if verb == "" {
		skills, err := s.Skills(ctx)
		if err != nil {
			return "", session.Failed("droid did not tell its skills", err)
		}
		return skillTable(skills), nil
	}
	state := map[string]string{"enable": "on", "disable": "off"}[verb]
	err := s.SwitchSkill(ctx, name, verb == "enable")
	return fmt.Sprintf("%s is %s, in all your projects.", name, state), notChanged(err, "droid did not "+verb+" the skill "+name, name+" is "+state+" now", "/skills "+args)
}

// skillTable returns a line for each skill.
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
