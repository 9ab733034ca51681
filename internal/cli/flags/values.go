package flags

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// Values are the settings of one run of a command, by their names.
type Values map[string]*value

// value is what was given of a setting, by flags or by its variable. It is a pflag.Value.
type value struct {
	Setting
	texts []string // what was given, in order
	by    string   // "--mode" or "$DROID_ACP_MODE", whichever gave it; the flag where neither did
}

// New are the values of rows of which nothing is given yet.
func New(rows []Setting) Values {
	v := make(Values, len(rows))
	for _, row := range rows {
		v[row.Name] = &value{Setting: row, by: "--" + row.Name}
	}
	return v
}

// AddFlag adds the flag of one of the rows, which then gives its value.
func (v Values) AddFlag(flags *pflag.FlagSet, row Setting) {
	flag := flags.VarPF(v.row(row.Name), row.Name, "", row.usage())
	flag.DefValue, flag.Hidden = cmp.Or(row.Default, row.Unset), row.Hidden
	if row.Kind == Switch {
		flag.NoOptDefVal = "true"
	}
}

// ReadEnvironment takes the value of each of these settings that no flag gave from its
// variable, and checks it. An error is a sentence for the user.
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

// String implements pflag.Value: the last text given, or the default.
func (v *value) String() string {
	if len(v.texts) == 0 {
		return v.Default
	}
	return v.texts[len(v.texts)-1]
}

// Type implements pflag.Value: what help calls the value, and of a switch nothing.
func (v *value) Type() string {
	if v.Kind == Switch {
		return "bool"
	}
	return v.Value
}

// Source names what gave the value: the flag "--mode" or the variable "$DROID_ACP_MODE".
// Of a setting that neither gave, it is the flag.
func (v Values) Source(name string) string { return v.row(name).by }

// String is the value of a setting: the last one given, or its default.
func (v Values) String(name string) string { return v.row(name).String() }

// Strings are all values given of a setting.
func (v Values) Strings(name string) []string { return v.row(name).texts }

// Flags are the flags that were given of these settings, as arguments for another process.
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

// Bool is the value of a Switch.
func (v Values) Bool(name string) bool {
	on, _ := strconv.ParseBool(v.String(name)) // checked; "" is off
	return on
}

// Duration is the value of a Duration.
func (v Values) Duration(name string) time.Duration {
	d, _ := time.ParseDuration(v.String(name)) // checked
	return d
}

// row panics for a name that is none of a row: a programming error.
func (v Values) row(name string) *value {
	row, ok := v[name]
	if !ok {
		panic("flags: this command has no setting " + name)
	}
	return row
}
