package adapter

import (
	"strings"

	"droid-acp/internal/protocol"
)

// named puts a word before the names of values: some clients show those alone, so
// that "Same model" would not say of what.
func named(what string, values []protocol.OptionValue) []protocol.OptionValue {
	for i := range values {
		values[i].Name = what + values[i].Name
	}
	return values
}

// modelValues are the models that droid offers and that can be chosen, the user's
// own first.
func (s *Session) modelValues() []protocol.OptionValue {
	var own, others []protocol.OptionValue
	for _, m := range s.models {
		if m.ID == "" || m.Disabled {
			continue
		}
		v := protocol.OptionValue{Value: m.ID, Name: m.DisplayName, Description: m.Provider}
		if v.Name == "" {
			v.Name = m.ID
		}
		if m.Deprecated && !strings.Contains(strings.ToLower(v.Name), "deprecated") { // droid's own names say it
			v.Name += " [Deprecated]"
		}
		if m.IsCustom {
			v.Description = "Custom model"
			own = append(own, v)
			continue
		}
		others = append(others, v)
	}
	return append(own, others...)
}

// effortValues are the efforts of a model; none where it has no choice.
func (s *Session) effortValues(model *string) []protocol.OptionValue {
	m := s.model(model)
	if m == nil || len(m.SupportedReasoningEfforts) < 2 {
		return nil
	}
	var out []protocol.OptionValue
	for _, effort := range m.SupportedReasoningEfforts {
		v := protocol.OptionValue{Value: effort, Name: effortName(effort)}
		if effort == m.DefaultReasoningEffort {
			v.Description = "The model's default"
		}
		out = append(out, v)
	}
	return out
}

func effortName(effort string) string {
	switch effort {
	case "xhigh":
		return "extra high"
	case "":
		return "none"
	}
	return effort
}
