package droids

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Normal makes lines of conversations comparable: it numbers IDs in the order of their occurrence, names paths, drops times and counts, and
// keeps only the scenario's texts and names.
type Normal struct {
	own    string
	places []string // pairs of a path and its name
	ids    map[string]string
}

// NewNormal returns one for a conversation. own are the scenario's texts; places has pairs of a path and its name, inner paths first.
func NewNormal(own []string, places ...string) *Normal {
	return &Normal{strings.Join(own, "\x00"), places, map[string]string{}}
}

// envelope are the fields of every message.
var envelope = []string{"jsonrpc", "type", "factoryApiVersion", "factoryProtocolVersion", "_meta"}

var (
	uuid       = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	idKey      = regexp.MustCompile(`(?:^id|Id|ID|Ids)$`)
	ownID      = regexp.MustCompile(`^[0-9]{1,3}$|^custom:`)
	identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*(?:[-.:/][A-Za-z0-9_]+)*$`)
	randomName = regexp.MustCompile(`[0-9a-f]{12,}|[0-9]{5,}`)
	keptNumber = regexp.MustCompile(`^(?:code|index|blockIndex|attempt|exitCode)$`)
)

// Line returns a message without its envelope, as one line of JSON.
func (n *Normal) Line(line []byte) (string, error) {
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		return "", err
	}
	for _, name := range envelope {
		delete(m, name)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(n.value("", m))
	return strings.TrimSuffix(out.String(), "\n"), err
}

// maxItems limits lists: the first models, commands and tools show what all look like.
const maxItems = 6

func (n *Normal) value(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range sorted(v) {
			out[n.text("", name)] = n.value(name, v[name])
		}
		return out
	case []any:
		var out []any
		for _, one := range v {
			model, _ := one.(map[string]any)
			if key == "availableModels" && model["isCustom"] != true {
				continue
			}
			if len(out) < maxItems {
				out = append(out, n.value(key, one))
			}
		}
		if out == nil {
			return []any{}
		}
		return out
	case float64:
		if keptNumber.MatchString(key) {
			return v
		}
		return 0
	case string:
		return n.text(key, v)
	}
	return v
}

func (n *Normal) text(key, s string) string {
	for i := 0; i < len(n.places); i += 2 {
		s = strings.ReplaceAll(s, n.places[i], n.places[i+1])
	}
	s = uuid.ReplaceAllStringFunc(s, n.id)
	switch rest, isError := strings.CutPrefix(s, "Error: "); {
	case s == "" || strings.Contains(n.own, s):
		return s
	case idKey.MatchString(key) && key != "modelId" && !ownID.MatchString(s):
		return n.id(s)
	case isError:
		return "Error: " + n.text("", rest)
	case (identifier.MatchString(s) || ownID.MatchString(s)) && !randomName.MatchString(s):
		return s
	}
	return "…"
}

// id numbers IDs in the order of their occurrence.
func (n *Normal) id(s string) string {
	if strings.HasPrefix(s, "#") || strings.Contains(s, "#") && !uuid.MatchString(s) {
		return s // it is numbered already
	}
	if n.ids[s] == "" {
		n.ids[s] = fmt.Sprintf("#%d", len(n.ids)+1)
	}
	return n.ids[s]
}
