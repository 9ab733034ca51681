package rules

import (
	"slices"
	"strings"
)

// Verdict is the result of applying rules to a command.
type Verdict struct {
	Matches []Rule // rules that match, of the strongest kind only
	Unread  bool   // the command has a part that only a shell can interpret
	Open    string // a part that no rule allows, if other parts are allowed
}

// Reading applies rules to a command, as this program understands them: as droid reduces both to a key. It does not know droid's built-in
// lists, nor which commands droid considers harmless.
func Reading(all []Rule, command string) (v Verdict) {
	parts, plain := split(command)
	v.Unread = !plain
	meets := func(kind Kind, key string) (found []Rule) {
		for _, r := range all {
			if r.Kind == kind && key != "" && Key(r.Text) == key {
				found = append(found, r)
			}
		}
		return found
	}
	for _, kind := range []Kind{Blocked, Denied} {
		for _, part := range parts {
			v.Matches = append(v.Matches, meets(kind, Key(part))...)
		}
		if len(v.Matches) > 0 {
			return v
		}
	}
	for _, part := range parts {
		if len(parts) > 1 && Key(part) == "cd" {
			continue // droid ignores it (0.99 to 0.225)
		}
		found := meets(Allowed, Key(part))
		if len(found) == 0 && v.Open == "" {
			v.Open = part
		}
		v.Matches = append(v.Matches, found...)
	}
	return v
}

// Allows reports whether the rules allow the command without a question.
func (v Verdict) Allows() bool {
	return len(v.Matches) > 0 && v.Matches[0].Kind == Allowed && v.Open == "" && !v.Unread
}

// keptWords is how many words droid keeps of the commands of a program, 1 if not listed (0.225.2). It keeps none of rm: an entry for it
// allows nothing.
var keptWords = map[string]int{"git": 2, "npm": 2, "pnpm": 2, "yarn": 2, "bun": 2, "gh": 3, "rm": 0}

// Key returns what droid keeps of a command, and of an entry of its lists: the program's name, for some programs with the subcommand. So an
// entry "touch a" allows each "touch". It is "" if unknown.
func Key(command string) string {
	words := strings.Fields(command)
	for len(words) > 0 && isAssignment(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	n, known := keptWords[words[0]]
	if !known {
		n = 1
	}
	if n > len(words) || slices.ContainsFunc(words[:n], func(w string) bool { return strings.HasPrefix(w, "-") }) {
		return ""
	}
	return strings.Join(words[:n], " ")
}

// isAssignment reports whether a word sets a variable for the command after it.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// split splits a command line into the commands that a shell runs. plain is false if the line contains something that runs others, such as
// $(…), or that this program cannot parse.
func split(line string) (parts []string, plain bool) {
	plain = true
	begin, quote := 0, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'':
		case c == '`' || c == '$' && i+1 < len(line) && strings.IndexByte("({", line[i+1]) >= 0:
			plain = false
		case quote != 0:
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte("(){}", c) >= 0, c == '<' && i+1 < len(line) && line[i+1] == '<':
			plain = false
		case strings.IndexByte("|;\n", c) >= 0, c == '&' && (i == 0 || line[i-1] != '>') && (i+1 == len(line) || line[i+1] != '>'):
			parts = append(parts, line[begin:i])
			begin = i + 1
		}
	}
	parts = append(parts, line[begin:])
	parts = slices.DeleteFunc(parts, func(part string) bool { return strings.TrimSpace(part) == "" })
	return parts, plain && quote == 0
}
