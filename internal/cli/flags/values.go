package flags

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// Values are the settings of one run of a command, by name.
type Values map[string]*value

// value is the value of a setting, from flags or its variable. It implements pflag.Value.
type value struct {
	Setting
	texts []string // the given values, in order
	by    string   // "--mode" or "$DROID_ACP_MODE", whichever set it; the flag if neither did
}

// New returns the unset values of rows.
func New(rows []Setting) Values {
	v := make(Values, len(rows))
	for _, row := range rows {
		v[row.Name] = &value{Setting: row, by: "--" + row.Name}
	}
	return v
}

// AddFlag adds the flag of a row, which sets its value.
func (v Values) AddFlag(flags *pflag.FlagSet, row Setting) {
	flag := flags.VarPF(v.row(row.Name), row.Name, "", row.usage())
	flag.DefValue, flag.Hidden = cmp.Or(row.Default, row.Unset), row.Hidden
	if row.Kind == Switch {
		flag.NoOptDefVal = "true"
	}
}

// ReadEnvironment reads each of these settings that no flag has set from its variable, and checks it. An error is a sentence for the user.
func (v Values) ReadEnvironment(names []string, getenv func(string) string) error {
	for _, name := range names {
		row := v.row(name)
		if len(row.texts) > 0 || row.Env == "" || row.FoundElsewhere {
			continue
		}
		text := getenv(row.Env)
		if text == "" {
			continue
		}
		if row.by = "$" + row.Env; row.Set(text) != nil {
			return fmt.Errorf("invalid value %q for %s: allowed is %s", text, row.by, row.allowed())
		}
	}
	return nil
}

// Set implements pflag.Value.
func (v *value) Set(text string) error {
	if !v.takes(text) {
		return errors.New("allowed is " + v.allowed())
	}
	v.texts = append(v.texts, text)
	return nil
}

// String implements pflag.Value: it returns the last text, or the default.
func (v *value) String() string {
	if len(v.texts) == 0 {
		return v.Default
	}
	return v.texts[len(v.texts)-1]
}

// Type implements pflag.Value: it returns the name of the value in help, "" for a switch.
func (v *value) Type() string {
	if v.Kind == Switch {
		return "bool"
	}
	return v.Value
}

// Source returns what has set the value: the flag "--mode" or the variable "$DROID_ACP_MODE". If neither has, it is the flag.
func (v Values) Source(name string) string { return v.row(name).by }

// String returns the value of a setting: the last one, or its default.
func (v Values) String(name string) string { return v.row(name).String() }

// Strings returns the given values of a setting, in order.
func (v Values) Strings(name string) []string { return v.row(name).texts }

// Flags returns the given flags among these settings, as arguments for another process.
func (v Values) Flags(names []string) (args []string) {
	for _, name := range names {
		row := v.row(name)
		for _, text := range row.texts {
			if row.by == "--"+name {
				args = append(args, "--"+name+"="+text)
			}
		}
	}
	return args
}

// Bool returns the value of a Switch.
func (v Values) Bool(name string) bool {
	on, _ := strconv.ParseBool(v.String(name)) // it was checked; "" is off
	return on
}

// Number returns the value of a Number.
func (v Values) Number(name string) int {
	n, _ := strconv.Atoi(v.String(name)) // it was checked
	return n
}

// Duration returns the value of a Duration.
func (v Values) Duration(name string) time.Duration {
	d, _ := time.ParseDuration(v.String(name)) // it was checked
	return d
}

// row panics for an unknown name: a programming error.
func (v Values) row(name string) *value {
	row, ok := v[name]
	if !ok {
		panic("flags: this command has no setting " + name)
	}
	return row
}
