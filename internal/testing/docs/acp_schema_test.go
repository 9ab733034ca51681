package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// schemaNode is a part of ACP's JSON schema.
type schemaNode struct {
	Type       any                   `json:"type"`
	Ref        string                `json:"$ref"`
	Const      any                   `json:"const"`
	Title      string                `json:"title"`
	Properties map[string]schemaNode `json:"properties"`
	AllOf      []schemaNode          `json:"allOf"`
	AnyOf      []schemaNode          `json:"anyOf"`
	OneOf      []schemaNode          `json:"oneOf"`
	Method     string                `json:"x-method"`
	Side       string                `json:"x-side"`
}

// acpSchema are the definitions of one file of the schema.
type acpSchema map[string]schemaNode

func readSchema(path string) (acpSchema, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Defs acpSchema `json:"$defs"`
	}
	return doc.Defs, json.Unmarshal(data, &doc)
}

// acpNames are the names of what the schema has, each with whether it is unstable.
func acpNames(root string) (map[string]bool, error) {
	dir := filepath.Join(root, "testdata/acp-schema")
	stable, err := readSchema(filepath.Join(dir, "schema.json"))
	if err != nil {
		return nil, err
	}
	unstable, err := readSchema(filepath.Join(dir, "schema.unstable.json"))
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for name := range unstable.names() {
		out[name] = true
	}
	for name := range stable.names() {
		out[name] = false
	}
	return out, nil
}

// names are those of methods ("session/new"), their params ("session/new.cwd") and results
// ("session/new.result.modes"), capabilities ("agentCapabilities.auth.logout"), values of
// a kind ("update:plan"), and the fields of what is told often ("update:plan.entries").
func (s acpSchema) names() map[string]bool {
	out := map[string]bool{}
	for name, d := range s {
		if d.Method != "" {
			out[d.Method] = true
			prefix := d.Method
			if strings.HasSuffix(name, "Response") {
				prefix += ".result"
			}
			s.addFields(out, prefix, d)
		}
		for _, value := range s.values(d) {
			out[kindOf(name)+":"+value] = true
		}
		if prefix := told[name]; prefix != "" {
			s.addFields(out, prefix, d)
		}
	}
	for _, b := range s["SessionUpdate"].OneOf {
		kind := fmt.Sprint(b.Properties["sessionUpdate"].Const)
		s.addFields(out, "update:"+kind, s.resolve(b))
	}
	s.addCapabilities(out, "agentCapabilities", s["AgentCapabilities"])
	s.addCapabilities(out, "clientCapabilities", s["ClientCapabilities"])
	return out
}

// told are definitions whose fields are features, and how they are called.
var told = map[string]string{
	"SessionInfo": "sessionInfo", "AvailableCommand": "command", "ToolCallLocation": "location", "Annotations": "annotations",
	"Usage": "usage", "SystemPrompt": "systemPrompt", "ElicitationFormMode": "form", "ElicitationUrlMode": "url",
	"ElicitationSessionScope": "elicitation", "ElicitationRequestScope": "elicitation", "Implementation": "implementation",
}

// kinds are how values are called that have a shorter name than their definition.
var kinds = map[string]string{
	"SessionUpdate": "update", "ContentBlock": "content", "ToolCallContent": "toolContent", "ErrorCode": "error", "StopReason": "stopReason",
	"ToolKind": "toolKind", "ToolCallStatus": "toolStatus", "PermissionOptionKind": "permission", "RequestPermissionOutcome": "outcome",
	"McpServer": "mcpServer", "AuthMethod": "authMethod", "SessionConfigOption": "option", "SessionConfigOptionCategory": "category",
	"CreateElicitationRequest": "elicitation", "CreateElicitationResponse": "elicited", "ElicitationPropertySchema": "formField",
	"NoticeSeverity": "severity", "CompactionStatus": "compaction", "PlanEntryPriority": "priority", "PlanEntryStatus": "entry",
}

func kindOf(definition string) string {
	if kind := kinds[definition]; kind != "" {
		return kind
	}
	return definition
}

// resolve is what a part of the schema refers to, or itself.
func (s acpSchema) resolve(n schemaNode) schemaNode {
	for _, r := range append([]schemaNode{n}, n.AllOf...) {
		if name, ok := strings.CutPrefix(r.Ref, "#/$defs/"); ok {
			return s[name]
		}
	}
	for _, r := range n.AnyOf { // a thing or null
		if name, ok := strings.CutPrefix(r.Ref, "#/$defs/"); ok && len(n.AnyOf) == 2 && n.AnyOf[1].Type == "null" {
			return s[name]
		}
	}
	return n
}

// addFields adds the fields of a definition. That of the session is in all of them.
func (s acpSchema) addFields(out map[string]bool, prefix string, d schemaNode) {
	for name := range d.Properties {
		if name != "_meta" && name != "sessionId" {
			out[prefix+"."+name] = true
		}
	}
}

// addCapabilities adds those that have none below them, and those that may be null: they
// say something alone.
func (s acpSchema) addCapabilities(out map[string]bool, path string, d schemaNode) {
	for name, property := range d.Properties {
		if name == "_meta" {
			continue
		}
		below := s.resolve(property)
		if s.isLeaf(below) || len(property.AnyOf) > 0 {
			out[path+"."+name] = true
		}
		s.addCapabilities(out, path+"."+name, below)
	}
}

func (s acpSchema) isLeaf(d schemaNode) bool {
	for name := range d.Properties {
		if name != "_meta" {
			return false
		}
	}
	return true
}

// values are the words that a kind has: constants, or what tells its variants apart. A
// variant that has no such word goes by its title.
func (s acpSchema) values(d schemaNode) (values []string) {
	titles := []string{}
	for _, b := range slices.Concat(d.OneOf, d.AnyOf) {
		word := b.Const
		for _, p := range b.Properties {
			if p.Const != nil {
				word = p.Const
			}
		}
		switch {
		case word != nil:
			if number, ok := word.(float64); ok {
				word = int(number)
			}
			values = append(values, fmt.Sprint(word))
		case b.Title != "" && !strings.EqualFold(b.Title, "other"):
			titles = append(titles, b.Title)
		}
	}
	if len(values) == 0 {
		return nil // variants that nothing names
	}
	return append(values, titles...)
}
