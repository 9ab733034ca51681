package flags

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// trial are the values of an invented command, which reads all of Common, after these
// arguments (separated by "|") and in this environment.
func trial(args string, environ ...string) (Values, error) {
	rows := append(Common(),
		Setting{Name: "demo", Kind: Switch},
		Setting{Name: "expect", Kind: Texts, Value: "TEXT"},
		Setting{Name: "timeout", Kind: Duration, Value: "TIME", Default: "5m", Least: 1, Form: "a time longer than zero"},
		Setting{Name: "most", Kind: Number, Value: "N", Default: "0"},
		Setting{Name: "answer", Kind: Choice, Value: "ANSWER", Allowed: []string{"yes", "no"}, Default: "no"},
	)
	v, flags := New(rows), pflag.NewFlagSet("trial", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, row := range rows {
		v.AddFlag(flags, row)
	}
	if err := flags.Parse(strings.FieldsFunc(args, func(r rune) bool { return r == '|' })); err != nil {
		return v, err
	}
	return v, v.ReadEnvironment(CommonNames(), func(name string) string {
		for _, line := range environ {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value
			}
		}
		return ""
	})
}

func TestFlagBeforeVariableBeforeDefault(t *testing.T) {
	v, err := trial("")
	require.NoError(t, err)
	require.Equal(t, 15*time.Minute, v.Duration(ParkAfter))
	require.Empty(t, v.String(Mode))
	require.False(t, v.Bool(Shell))
	require.Equal(t, "no", v.String("answer"))

	env := []string{"DROID_ACP_MODE=spec", "DROID_ACP_PARK_AFTER=2m", "DROID_ACP_SHELL=1", "DROID_ACP_LOG_FILE=/a", "DROID_ACP_DROID=/droid", "DROID_ACP_EFFORT="}
	v, err = trial("", env...)
	require.NoError(t, err)
	require.Equal(t, 2*time.Minute, v.Duration(ParkAfter))
	require.Equal(t, "spec", v.String(Mode))
	require.True(t, v.Bool(Shell))
	require.Equal(t, "$DROID_ACP_LOG_FILE", v.Source(LogFile))
	require.Empty(t, v.String(Droid), "droid.Find reads it")

	v, err = trial("--mode|normal|--mode=auto-low|--park-after|0|--shell=false|--log-file=/b|--expect|a|--expect|b", env...)
	require.NoError(t, err)
	require.Zero(t, v.Duration(ParkAfter))
	require.Equal(t, "auto-low", v.String(Mode), "the last one counts")
	require.False(t, v.Bool(Shell))
	require.Equal(t, "--log-file", v.Source(LogFile))
	require.Equal(t, []string{"a", "b"}, v.Strings("expect"))

	require.Equal(t, []string{"--mode=normal", "--mode=auto-low", "--park-after=0", "--shell=false", "--log-file=/b"}, v.Flags(CommonNames()))

	v, err = trial("--mode=|--demo", env...)
	require.NoError(t, err)
	require.Empty(t, v.String(Mode), "an empty flag asks for droid's own")
	require.Equal(t, []string{"--mode="}, v.Flags(CommonNames()))
	require.True(t, v.Bool("demo"))
	require.Panics(t, func() { v.String("no such setting") })
}

// Each error names the flag or the variable, and what is allowed.
func TestWrongValues(t *testing.T) {
	for _, tc := range []struct{ args, env, want string }{
		{"--mode=turbo", "", `invalid argument "turbo" for "--mode" flag: allowed is normal, spec, auto-low, auto-medium or auto-high`},
		{"", "DROID_ACP_MODE=turbo", `invalid value "turbo" for $DROID_ACP_MODE: allowed is normal, spec, auto-low, auto-medium or auto-high`},
		{"--mode=turbo|--mode=spec", "", `"--mode" flag`},
		{"", "DROID_ACP_SHELL=maybe", `invalid value "maybe" for $DROID_ACP_SHELL: allowed is true or false`},
		{"", "DROID_ACP_PARK_AFTER=15", `invalid value "15" for $DROID_ACP_PARK_AFTER: allowed is a time such as 90s`},
		{"--park-after=-1s", "", `"--park-after" flag: allowed is a time such as 90s`},
		{"--timeout=0s", "", `"--timeout" flag: allowed is a time longer than zero`},
		{"--most=-1", "", `invalid argument "-1" for "--most" flag: allowed is a whole number`},
		{"--most=2k", "", `"--most" flag`},
		{"--answer=", "", `invalid argument "" for "--answer" flag: allowed is yes or no`},
	} {
		_, err := trial(tc.args, tc.env)
		require.ErrorContains(t, err, tc.want)
	}
	v, err := trial("--most=12", "")
	require.NoError(t, err)
	require.Equal(t, 12, v.Number("most"))
	_, err = trial("--mode=spec", "DROID_ACP_MODE=turbo")
	require.NoError(t, err, "a variable that the flag wins over is not looked at")
}

func TestUnknownVariables(t *testing.T) {
	require.Equal(t, []string{"there is no setting $DROID_ACP_MODLE", "there is no setting $DROID_ACP_TRANSCRIPTS2"}, UnknownVariables([]string{
		"DROID_ACP_MODE=spec", "DROID_ACP_DROID=/droid", "DROID_ACP_E2E_DROIDS=0.99.0", "DROID_ACP_TEST_LOGIN=x", "DROID_ACP_TRANSCRIPTS=none",
		"DROID_ACP_ACTIVE_HELP=0", "DROID_ACP_EMPTY=", "HOME=/", "MYDROID_ACP_X=1", "DROID_ACP_MODLE=x", "DROID_ACP_TRANSCRIPTS2=x",
	}))
}

// Every setting that commands share has a flag, a variable that is called the same, and words.
func TestCommonIsComplete(t *testing.T) {
	for _, row := range Common() {
		require.Equal(t, prefix+strings.ToUpper(strings.ReplaceAll(row.Name, "-", "_")), row.Env)
		require.NotEmpty(t, row.Does, row.Name)
		require.NotEmpty(t, row.Default+row.Unset, row.Name)
		require.Equal(t, row.Kind == Switch, row.Value == "", row.Name)
		require.Equal(t, row.Kind == Choice, len(row.Allowed) > 0, row.Name)
		if row.Default != "" {
			require.True(t, row.takes(row.Default), row.Name)
		}
	}
}
