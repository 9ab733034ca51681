package options

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Value is a value that an option is to have: "true" or "false" for a switch.
type Value struct{ ID, Value string }

// firstValue is an entry of configOptions in the params of session/new, load, resume and fork (unstable in ACP, schema 1.32).
type firstValue struct {
	ID    string          `json:"configId"`
	Type  json.RawMessage `json:"type"` // "boolean" for a switch
	Value json.RawMessage `json:"value"`
}

// ParseFirst parses the values that the options of a session are to have first. They are sorted such that each follows the values that
// decide what it may be. An entry with a value of another type than its option has is dropped, as ACP wants it: the client learns from the
// response what the options are. The error is for a type of which this agent knows nothing.
func ParseFirst(raw json.RawMessage) (values []Value, err error) {
	var entries []firstValue
	if len(raw) > 0 && json.Unmarshal(raw, &entries) != nil {
		return nil, errors.New("configOptions must be a list of objects with configId and value")
	}
	for n, e := range entries {
		isSwitch, known := e.isSwitch()
		if !known {
			return nil, fmt.Errorf(`configOptions[%d].type is %.80s; it can be "boolean", or be left out where value is the id of a value`, n, e.Type)
		}
		if value, ok := e.value(isSwitch); ok && isSwitch == Find(e.ID).Switch {
			values = append(values, Value{e.ID, value})
		}
	}
	rank := func(v Value) int { // each is behind those on which its values depend; the mode, on which none does, comes last
		if v.ID == Mode {
			return len(settings)
		}
		return slices.IndexFunc(settings, func(s Setting) bool { return s.ID == v.ID })
	}
	slices.SortStableFunc(values, func(a, b Value) int { return rank(a) - rank(b) })
	return values, nil
}

func (e firstValue) isSwitch() (is, known bool) {
	switch string(e.Type) {
	case "", "null", `"select"`:
		return false, true
	case `"boolean"`:
		return true, true
	}
	return false, false
}

func (e firstValue) value(isSwitch bool) (value string, ok bool) {
	if isSwitch {
		var on *bool
		if json.Unmarshal(e.Value, &on) != nil || on == nil {
			return "", false
		}
		return strconv.FormatBool(*on), true
	}
	err := json.Unmarshal(e.Value, &value)
	return value, err == nil && value != ""
}
