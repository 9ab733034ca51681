package acptest

import (
	"encoding/json"
	"fmt"
	"unicode"
)

// CheckSafe checks all strings in a piece of JSON, or a text that is not JSON: the error names the one with a character that moves the
// cursor, changes the direction of writing or is invisible. If lines is set, a text may have several lines.
func CheckSafe(shown string, lines bool) error {
	var v any
	if json.Unmarshal([]byte(shown), &v) != nil {
		v = shown
	}
	return checkSafe(v, lines)
}

func checkSafe(v any, lines bool) error {
	switch v := v.(type) {
	case string:
		for _, r := range v {
			if !unicode.IsPrint(r) && (!lines || r != '\n') {
				return fmt.Errorf("%q in %q", r, v)
			}
		}
	case map[string]any:
		for _, one := range v {
			if err := checkSafe(one, lines); err != nil {
				return err
			}
		}
	case []any:
		for _, one := range v {
			if err := checkSafe(one, lines); err != nil {
				return err
			}
		}
	}
	return nil
}
