package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// trial is an invented command.
func trial() Command {
	return Command{
		Name: "trial", Reads: []string{Mode, Files, ParkAfter, Shell, Droid, LogFile},
		Own: []Setting{
			{Name: "demo", Kind: Switch},
			{Name: "expect", Kind: Texts, Value: "TEXT"},
			{Name: "timeout", Kind: Duration, Value: "TIME", Default: "5m", Least: 1, Form: "a time longer than zero"},
			{Name: "answer", Kind: Choice, Value: "ANSWER", Allowed: []string{"yes", "no"}, Default: "no"},
		},
		Exclude: [][2]string{{"demo", Droid}},
	}
}

func environ(lines ...string) func(string) string {
	return func(name string) string {
		for _, line := range lines {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestFlagBeforeVariableBeforeDefault(t *testing.T) {
	v, err := trial().Resolve(nil, environ())
	require.NoError(t, err)
	require.Equal(t, 15*time.Minute, v.Duration(ParkAfter))
	require.Empty(t, v.String(Mode))
	require.False(t, v.Bool(Shell))
	require.Equal(t, "no", v.String("answer"))

	env := environ("DROID_ACP_MODE=spec", "DROID_ACP_PARK_AFTER=2m", "DROID_ACP_SHELL=1", "DROID_ACP_LOG_FILE=/a", "DROID_ACP_DROID=/droid", "DROID_ACP_MODEL=not read")
	v, err = trial().Resolve(nil, env)
	require.NoError(t, err)
	require.Equal(t, 2*time.Minute, v.Duration(ParkAfter))
	require.Equal(t, "spec", v.String(Mode))
	require.True(t, v.Bool(Shell))
	require.Equal(t, "$DROID_ACP_LOG_FILE", v.Source(LogFile))
	require.False(t, v.ByFlag(Mode))
	require.Empty(t, v.String(Droid), "droid.Find reads it")
	require.Empty(t, v.String(Model))

	v, err = trial().Resolve(Given{Mode: {"normal", "auto-low"}, ParkAfter: {"0"}, Shell: {"false"}, LogFile: {"/b"}, "expect": {"a", "b"}}, env)
	require.NoError(t, err)
	require.Zero(t, v.Duration(ParkAfter))
	require.Equal(t, "auto-low", v.String(Mode), "the last one counts")
	require.False(t, v.Bool(Shell))
	require.Equal(t, "--log-file", v.Source(LogFile))
	require.True(t, v.ByFlag(Mode))
	require.Equal(t, []string{"a", "b"}, v.Strings("expect"))

	v, err = trial().Resolve(Given{Mode: {""}}, env)
	require.NoError(t, err)
	require.Empty(t, v.String(Mode), "an empty flag asks for droid's own")
	require.Panics(t, func() { v.String("no such setting") })
}

// Each error names the flag or the variable, and what is allowed.
func TestWrongValues(t *testing.T) {
	for _, tc := range []struct {
		given Given
		env   string
		want  string
	}{
		{Given{Mode: {"turbo"}}, "", `invalid value "turbo" for --mode: allowed is normal, spec, auto-low, auto-medium or auto-high`},
		{nil, "DROID_ACP_MODE=turbo", `invalid value "turbo" for $DROID_ACP_MODE: allowed is normal, spec, auto-low, auto-medium or auto-high`},
		{Given{Mode: {"turbo", "spec"}}, "", `for --mode`},
		{nil, "DROID_ACP_SHELL=maybe", `invalid value "maybe" for $DROID_ACP_SHELL: allowed is true or false`},
		{nil, "DROID_ACP_PARK_AFTER=15", `invalid value "15" for $DROID_ACP_PARK_AFTER: allowed is a time such as 90s`},
		{Given{ParkAfter: {"-1s"}}, "", `invalid value "-1s" for --park-after: allowed is a time such as 90s`},
		{Given{"timeout": {"0s"}}, "", `invalid value "0s" for --timeout: allowed is a time longer than zero`},
		{Given{"answer": {""}}, "", `invalid value "" for --answer: allowed is yes or no`},
		{Given{Model: {"x"}}, "", "--model means nothing to trial"},
		{Given{"demo": {"true"}, Droid: {"/droid"}}, "", "--demo and --droid exclude each other"},
	} {
		_, err := trial().Resolve(tc.given, environ(tc.env))
		require.ErrorContains(t, err, tc.want)
	}
}

func TestWhatIsNoContradiction(t *testing.T) {
	for _, given := range []Given{{"demo": {"true"}}, {"demo": {"false"}, Droid: {"/droid"}}} {
		_, err := trial().Resolve(given, environ("DROID_ACP_DROID=/droid", "DROID_ACP_FILES=disk"))
		require.NoError(t, err)
	}
	_, err := trial().Resolve(Given{Mode: {"spec"}}, environ("DROID_ACP_MODE=turbo"))
	require.NoError(t, err, "a variable that the flag wins over is not looked at")
	lenient := trial()
	lenient.PassesOver = true
	_, err = lenient.Resolve(Given{Model: {"x"}}, environ())
	require.NoError(t, err)
}

func TestArguments(t *testing.T) {
	words := Command{Name: "paint", MaxArgs: 1, Words: []string{"red", "blue"}}
	require.NoError(t, words.CheckArgs([]string{"red"}))
	for _, args := range [][]string{nil, {"green"}, {"red", "blue"}} {
		require.EqualError(t, words.CheckArgs(args), "paint takes one of red or blue")
	}
	require.EqualError(t, Command{Name: "man"}.CheckArgs([]string{"x"}), `man takes no argument "x"`)
	require.NoError(t, Command{MaxArgs: -1}.CheckArgs([]string{"x", "y"}))
}

func TestStrays(t *testing.T) {
	strays := Strays([]string{
		"DROID_ACP_MODE=spec", "DROID_ACP_DROID=/droid", "DROID_ACP_E2E_DROIDS=0.99.0", "DROID_ACP_TEST_LOGIN=x", "DROID_ACP_TRANSCRIPTS=none",
		"DROID_ACP_ACTIVE_HELP=0", "DROID_ACP_EMPTY=", "HOME=/", "MYDROID_ACP_X=1",
		"DROID_ACP_MODLE=x", "DROID_ACP_SOMETHING=x", "DROID_ACP_FILE=x", "DROID_ACP_TRANSCRIPTS2=x",
	}, nil)
	var said []string
	for _, s := range strays {
		said = append(said, s.String())
	}
	require.Equal(t, []string{
		"there is no setting $DROID_ACP_MODLE; is $DROID_ACP_MODEL meant?",
		"there is no setting $DROID_ACP_SOMETHING",
		"there is no setting $DROID_ACP_FILE; is $DROID_ACP_FILES meant?",
		"there is no setting $DROID_ACP_TRANSCRIPTS2",
	}, said)
}

// Every setting that commands share has a flag, a variable that is called the same, and words.
func TestCommonIsComplete(t *testing.T) {
	for _, row := range Common() {
		require.Equal(t, prefix+strings.ToUpper(strings.ReplaceAll(row.Name, "-", "_")), row.Env)
		require.NotEmpty(t, row.Does, row.Name)
		require.NotEmpty(t, row.Otherwise(), row.Name)
		require.Equal(t, row.Kind == Switch, row.Value == "", row.Name)
		require.Equal(t, row.Kind == Choice, len(row.Allowed) > 0, row.Name)
		if row.Default != "" {
			require.True(t, row.takes(row.Default), row.Name)
		}
	}
}
