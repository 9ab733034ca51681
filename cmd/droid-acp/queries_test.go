package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid/store"
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
		stricter, settings := compare(serve.AttachParams{Args: c.has, Env: append([]string{}, c.hasEnv...)}, serve.AttachParams{Args: c.joins, Env: append([]string{}, c.env...)})
		require.Equal(t, c.stricter, stricter, name)
		require.Equal(t, c.settings, settings, name)
	}
}

// The thread of a session is read from the store that the client's own agent would have.
func TestThreadOfASession(t *testing.T) {
	homes := []string{t.TempDir(), t.TempDir()}
	link := store.Link{From: "a", To: "b", Kind: store.LinkRewind, Time: time.Now()}
	require.NoError(t, store.New(filepath.Join(homes[0], ".factory", "sessions"), zap.NewNop()).Link(link))
	thread := threads()
	for i, want := range [][]string{{"a", "b"}, {"b"}} {
		ids, err := thread(serve.AttachParams{Env: []string{store.EnvHome + "=" + homes[i]}}, "b")
		require.NoError(t, err)
		require.Equal(t, want, ids)
	}
}
