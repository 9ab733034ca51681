package acptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Surface is the visible content of ACP, each item "stable" or "unstable": methods, updates and capabilities by names such as "update:
// plan" and "capability of client: fs.readTextFile", and the fields of all definitions as "field: NewSessionRequest.cwd".
type Surface map[string]string

// ReadSurface reads it from schema.json and schema.unstable.json in a directory.
func ReadSurface(dir string) (Surface, error) {
	s := Surface{}
	for _, state := range []string{"unstable", "stable"} { // an item in both is stable
		name := map[string]string{"stable": "schema.json", "unstable": "schema.unstable.json"}[state]
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		var doc struct {
			Defs map[string]map[string]any `json:"$defs"`
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		if len(doc.Defs["SessionUpdate"]) == 0 || len(doc.Defs["ClientCapabilities"]) == 0 || len(doc.Defs["AgentCapabilities"]) == 0 {
			return nil, fmt.Errorf("%s has no updates or no capabilities", name)
		}
		s.add(doc.Defs, state)
	}
	return s, nil
}

func (s Surface) add(defs definitions, state string) {
	for name, def := range defs {
		if method, _ := def["x-method"].(string); method != "" && !strings.HasSuffix(name, "Response") {
			s[fmt.Sprintf("method of %s: %s", def["x-side"], method)] = state
		}
		for field := range defs.fields(def, nil) {
			s["field: "+name+"."+field] = state
		}
	}
	for _, kind := range defs.fields(defs["SessionUpdate"], nil)["sessionUpdate"] {
		if of, ok := kind["const"].(string); ok {
			s["update: "+of] = state
		}
	}
	s.capabilities(defs, defs["ClientCapabilities"], "capability of client: ", state)
	s.capabilities(defs, defs["AgentCapabilities"], "capability of agent: ", state)
}

func (s Surface) capabilities(defs definitions, of map[string]any, path, state string) {
	for name, values := range defs.fields(of, nil) {
		if name == "_meta" {
			continue
		}
		s[path+name] = state
		for _, value := range values {
			s.capabilities(defs, value, path+name+".", state)
		}
	}
}

// definitions are the $defs of a schema.
type definitions map[string]map[string]any

// fields returns the fields that a part of a schema names anywhere, with their alternatives. seen are the references followed so far.
func (d definitions) fields(of map[string]any, seen []string) map[string][]map[string]any {
	found := map[string][]map[string]any{}
	add := func(more map[string][]map[string]any) {
		for name, values := range more {
			found[name] = append(found[name], values...)
		}
	}
	properties, _ := of["properties"].(map[string]any)
	for name, value := range properties {
		value, _ := value.(map[string]any)
		found[name] = append(found[name], value)
	}
	if ref, ok := of["$ref"].(string); ok && !slices.Contains(seen, ref) {
		add(d.fields(d[strings.TrimPrefix(ref, "#/$defs/")], append(seen, ref)))
	}
	for _, how := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := of[how].([]any)
		for _, branch := range branches {
			branch, _ := branch.(map[string]any)
			add(d.fields(branch, seen))
		}
	}
	return found
}

// Known is this project's knowledge of ACP: known.json in the schema's directory.
type Known struct {
	// Looked is the day on which a person last read ACP's announcements and RFDs, which precede npm.
	Looked string
	Source string
	// Surface lists methods, updates and capabilities by their names in a Surface, and announced ones that no schema has yet.
	Surface map[string]Item
}

// Item is served, or declined for a reason.
type Item struct {
	Served   bool
	Declined string
	// State, Since and Date are set if an announcement precedes the local schema: "stable", "unstable" or "draft", the version of the
	// schema, and the day.
	State, Since, Date string
}

// ReadKnown reads known.json in a directory.
func ReadKnown(dir string) (Known, error) {
	var k Known
	text, err := os.ReadFile(filepath.Join(dir, "known.json"))
	if err != nil {
		return k, err
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return k, fmt.Errorf("reading known.json: %w", err)
	}
	for name, item := range k.Surface {
		if item.Served == (item.Declined != "") {
			err = errors.Join(err, fmt.Errorf("%s is served, or declined for a reason", name))
		}
	}
	return k, err
}

// state returns the last announced state of an item, otherwise that in a schema.
func (k Known) state(name string, schema Surface) string {
	if said := k.Surface[name].State; said != "" {
		return said
	}
	return schema[name]
}

// NotLookedAt returns the methods, updates and capabilities without a decision.
func (k Known) NotLookedAt(s Surface) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if _, known := k.Surface[name]; !known && !strings.HasPrefix(name, "field: ") {
			names = append(names, name)
		}
	}
	return names
}

// News lists the differences of another schema from ours, one per line.
func (k Known) News(ours, theirs Surface) (lines []string) {
	decided := func(name string) string {
		item, known := k.Surface[name]
		switch {
		case strings.HasPrefix(name, "field: "):
			return ""
		case !known:
			return "; not looked at"
		case item.Served:
			return "; served"
		}
		return "; declined because " + item.Declined
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		switch ours[name] {
		case "":
			lines = append(lines, fmt.Sprintf("new: %s (%s)%s", name, theirs[name], decided(name)))
		case theirs[name]:
		default:
			lines = append(lines, fmt.Sprintf("%s was %s and is %s%s", name, ours[name], theirs[name], decided(name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if theirs[name] == "" {
			lines = append(lines, "gone: "+name+decided(name))
		}
	}
	return lines
}

// LookAge is how long a reading of the announcements is valid.
const LookAge = 30 * 24 * time.Hour

// CheckLook returns an error if a reading on that day ("2026-11-23") of what of names is too old.
func CheckLook(of, day string, now time.Time) error {
	looked, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return fmt.Errorf("when somebody last looked at %s cannot be read: %w", of, err)
	}
	if age := now.Sub(looked); age > LookAge {
		return fmt.Errorf("nobody has looked at %s for %d days: read it, and write what you find and the day", of, age/(24*time.Hour))
	}
	return nil
}
