package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/serve"
)

// A window whose agent would let less run is refused by the setting; of other settings those are named that differ.
func TestCompareAgents(t *testing.T) {
	for name, c := range map[string]struct {
		has, joins  []string // flags
		hasEnv, env []string
		stricter    string
		settings    []string
	}{
		"alike":              {has: []string{"--mode=spec"}, joins: []string{"--mode=spec"}},
		"never against ask":  {joins: []string{"--trust=never"}, stricter: "`--trust never`"},
		"ask against always": {has: []string{"--trust=always"}, stricter: "`--trust ask`"},
		"by a variable":      {hasEnv: []string{"DROID_ACP_TRUST=always"}, env: []string{"DROID_ACP_TRUST=never"}, stricter: "`--trust never`"},
		"always against ask": {joins: []string{"--trust=always"}, settings: []string{"`--trust`"}},
		"no shell":           {has: []string{"--shell"}, stricter: "`--shell=false`"},
		"a shell":            {joins: []string{"--shell"}, settings: []string{"`--shell`"}},
		"others":             {has: []string{"--mode=spec", "--droid=/a"}, joins: []string{"--droid=/b", "--model=m"}, settings: []string{"`--droid`", "`--model`", "`--mode`"}},
		"a variable":         {env: []string{"DROID_ACP_MODE=spec"}}, // which serve names
		"wrong":              {joins: []string{"--trust=perhaps"}, stricter: "settings that can be read (invalid argument \"perhaps\" for \"--trust\" flag: allowed is ask, always or never)"},
	} {
		stricter, settings := compare(serve.Hello{Args: c.has, Env: append([]string{}, c.hasEnv...)}, serve.Hello{Args: c.joins, Env: append([]string{}, c.env...)})
		require.Equal(t, c.stricter, stricter, name)
		require.Equal(t, c.settings, settings, name)
	}
}
