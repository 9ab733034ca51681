package instructions

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Instructions are a session's additions to droid's system prompt. The zero value adds nothing.
type Instructions struct {
	Text  string   // the client's words, "" for none
	Roots []string // additional directories, absolute and clean
}

// Equal reports whether both add the same.
func (i Instructions) Equal(other Instructions) bool {
	return i.Text == other.Text && slices.Equal(i.Roots, other.Roots)
}

// Added returns a process's addition to the system prompt. stored is the addition that droid makes by itself for the session that it
// opens: the same text is not added twice.
func (i Instructions) Added(stored string) string {
	parts := make([]string, 0, 2)
	if i.Text != "" && i.Text != strings.TrimSpace(stored) {
		parts = append(parts, i.Text)
	}
	if len(i.Roots) > 0 {
		parts = append(parts, i.workspace())
	}
	return strings.Join(parts, "\n\n")
}

// workspace describes the additional directories to the model. Their names are in JSON, so
// that a name with line breaks or markup in it stays a name.
func (i Instructions) workspace() string {
	var b strings.Builder
	b.WriteString("The user's workspace has more directories than the working directory. Each line below is the path of one, as a JSON string:\n")
	for _, root := range i.Roots {
		name, _ := json.Marshal(root) // strings always encode
		b.WriteString("\n- ")
		b.Write(name)
	}
	b.WriteString("\n\nThey belong to the workspace as the working directory does. Search, read and change files there too where the task calls for it, by absolute path. " +
		"Relative paths and shell commands still start from the working directory.")
	return b.String()
}

// readSystemPrompt reads the words that a client adds to the system prompt: ACP's own
// systemPrompt (stable since schema 1.30, 6 November 2026), else _meta.systemPrompt {append},
// as other agents take it. said is false when the request has neither.
func readSystemPrompt(own, meta json.RawMessage) (text string, said bool, err error) {
	if isSaid(own) {
		text, err = readOwnPrompt(own)
		return text, true, err
	}
	var fields struct {
		SystemPrompt json.RawMessage `json:"systemPrompt"`
	}
	if json.Unmarshal(meta, &fields) != nil || !isSaid(fields.SystemPrompt) || string(fields.SystemPrompt) == `""` {
		return "", false, nil
	}
	text, err = readMetaPrompt(fields.SystemPrompt)
	return text, true, err
}

func isSaid(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

func readOwnPrompt(value json.RawMessage) (string, error) {
	var prompt struct {
		Mode    string `json:"mode"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(value, &prompt); err != nil {
		return "", fmt.Errorf("systemPrompt: %w", err)
	}
	if prompt.Mode != "append" {
		return "", fmt.Errorf("systemPrompt.mode is %q; droid keeps its own system prompt, so the one mode is \"append\"", prompt.Mode)
	}
	if len(prompt.Content) == 0 {
		return "", errors.New("systemPrompt.content is empty; leave systemPrompt out to add nothing")
	}
	parts := make([]string, len(prompt.Content))
	for n, block := range prompt.Content {
		if block.Type != "text" {
			return "", fmt.Errorf("systemPrompt.content[%d] is of the type %q; it can only be \"text\"", n, block.Type)
		}
		parts[n] = block.Text
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n")), nil
}

func readMetaPrompt(value json.RawMessage) (string, error) {
	var prompt struct {
		Append *string `json:"append"`
	}
	if err := json.Unmarshal(value, &prompt); err != nil || prompt.Append == nil {
		return "", errors.New("_meta.systemPrompt would replace droid's system prompt, and droid keeps its own; use {\"append\": TEXT} to add to it")
	}
	return strings.TrimSpace(*prompt.Append), nil
}
