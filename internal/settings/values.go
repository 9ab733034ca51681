package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Given are the flags of a command line: the texts of each, in order, by its name.
type Given map[string][]string

// Values are the settings of one run of a command.
type Values struct {
	rows map[string]Setting
	text map[string][]string // what was given, by flag or variable
	flag map[string]bool     // whether it was the flag
	name map[string]string   // "--mode" or "$DROID_ACP_MODE", whichever gave the value
}

// Resolve takes the value of each setting that the command reads from the flags or, where
// there is none, from the environment, and checks it. An error is a sentence for the user
// that names the flag or the variable, and what is allowed.
func (c Command) Resolve(given Given, getenv func(string) string) (*Values, error) {
	v := &Values{make(map[string]Setting), make(map[string][]string), make(map[string]bool), make(map[string]string)}
	for _, row := range append(Common(), c.Own...) {
		v.rows[row.Name] = row
	}
	if err := c.unread(given); err != nil {
		return nil, err
	}
	for _, row := range c.Settings() {
		texts, name := given[row.Name], "--"+row.Name
		v.flag[row.Name] = len(texts) > 0
		if len(texts) == 0 && row.Env != "" && !row.FoundElsewhere {
			if text := getenv(row.Env); text != "" {
				texts, name = []string{text}, "$"+row.Env
			}
		}
		for _, text := range texts {
			if err := row.Check(text, name); err != nil {
				return nil, err
			}
		}
		v.text[row.Name], v.name[row.Name] = texts, name
	}
	for _, pair := range c.Exclude {
		if v.isSet(pair[0]) && v.isSet(pair[1]) {
			return nil, fmt.Errorf("--%s and --%s exclude each other", pair[0], pair[1])
		}
	}
	return v, nil
}

// unread finds a flag that stands before the command's name and means nothing to it.
func (c Command) unread(given Given) error {
	for _, row := range Common() {
		if len(given[row.Name]) > 0 && !c.PassesOver && !slices.Contains(c.Reads, row.Name) {
			return fmt.Errorf("--%s means nothing to %s", row.Name, c.Word())
		}
	}
	return nil
}

// isSet: the flag was given, and not to switch something off. A variable contradicts no
// flag, as the flag wins.
func (v *Values) isSet(name string) bool {
	return v.flag[name] && (v.rows[name].Kind != Switch || v.Bool(name))
}

// ByFlag reports whether the setting was given by its flag.
func (v *Values) ByFlag(name string) bool { return v.flag[name] }

// Source names what gave the value: the flag "--mode" or the variable "$DROID_ACP_MODE".
// Of a setting that neither gave, it is the flag.
func (v *Values) Source(name string) string { return v.name[v.row(name).Name] }

// String is the value of a setting: the last one given, or its default.
func (v *Values) String(name string) string {
	if texts := v.Strings(name); len(texts) > 0 {
		return texts[len(texts)-1]
	}
	return v.row(name).Default
}

// Strings are all values given of a setting.
func (v *Values) Strings(name string) []string { return v.text[v.row(name).Name] }

// Bool is the value of a Switch.
func (v *Values) Bool(name string) bool {
	on, _ := strconv.ParseBool(v.String(name)) // checked; "" is off
	return on
}

// Duration is the value of a Duration.
func (v *Values) Duration(name string) time.Duration {
	d, _ := time.ParseDuration(v.String(name)) // checked
	return d
}

// row panics for a name that neither Common nor the command has: a programming error.
func (v *Values) row(name string) Setting {
	row, ok := v.rows[name]
	if !ok {
		panic("settings: this command has no setting " + name)
	}
	return row
}

// Check returns an error if the text is no value of the setting. name is where the text
// comes from: "--mode" or "$DROID_ACP_MODE".
func (s Setting) Check(text, name string) error {
	if !s.takes(text) {
		return fmt.Errorf("invalid value %q for %s: allowed is %s", text, name, s.allowed())
	}
	return nil
}

// takes reports whether the text is a value of the setting.
func (s Setting) takes(text string) bool {
	switch s.Kind {
	case Choice:
		return slices.Contains(s.Allowed, text) || text == "" && s.Default == "" // what else would hold
	case Duration:
		d, err := time.ParseDuration(text)
		return err == nil && d >= s.Least
	case Switch:
		_, err := strconv.ParseBool(text)
		return err == nil
	}
	return true
}

// allowed says what the setting takes, in words.
func (s Setting) allowed() string {
	switch {
	case s.Form != "":
		return s.Form
	case s.Kind == Switch:
		return "true or false"
	case s.Kind == Choice:
		return Or(s.Allowed)
	}
	return "a " + strings.ToLower(s.Value)
}

// Or lists words: "a, b or c".
func Or(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// CheckArgs checks the arguments that are no flags.
func (c Command) CheckArgs(args []string) error {
	switch {
	case len(c.Words) > 0 && (len(args) != 1 || !slices.Contains(c.Words, args[0])):
		return fmt.Errorf("%s takes one of %s", c.Word(), Or(c.Words))
	case c.MaxArgs >= 0 && len(args) > c.MaxArgs && len(c.Words) == 0:
		return fmt.Errorf("%s takes no argument %q", c.Word(), args[c.MaxArgs])
	}
	return nil
}
