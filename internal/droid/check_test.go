package droid

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/stream"
)

// While a process that is checked gets other settings, it stays checked: droid may report what it runs at any time.
func TestChecksHaveNoGap(t *testing.T) {
	c, _ := newPeerOf(t, "1.220.0", func(stdout io.Reader, stdin io.WriteCloser) *Client {
		return newClient(stdout, stdin, nil, func([]byte) error { return nil }, nil, shortBounds)
	})
	runtime := Runtime{CWD: t.TempDir(), Excluded: &projectconfig.Layer{Items: []projectconfig.Item{{Kind: projectconfig.Allowed}}}}
	c.env = []string{"HOME=" + writeHome(t, nil)}
	c.setVersion(stream.Version{Major: 1, Minor: 220})
	require.NoError(t, c.SetRuntime(runtime))
	set := async(func() error {
		for range 500 {
			if err := c.SetRuntime(runtime); err != nil {
				return err
			}
		}
		return nil
	})
	for {
		require.NotNil(t, c.checks.Load())
		require.NotNil(t, c.Excluded())
		select {
		case err := <-set:
			require.NoError(t, err)
			return
		default:
		}
	}
}

// droid's reports of what it runs are compared with what it may run.
func TestForbidden(t *testing.T) {
	const mine = `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./mine"}]}]},"autonomyMode":"auto-low"}`
	k := &processChecks{home: writeHome(t, map[string]string{"settings.json": mine}), hooks: []string{"droid-acp hook"}}
	server := func(source, status string) stream.Event {
		return stream.MCPStatusChanged{Servers: []stream.MCPServerStatus{{Name: "ok", Source: "user", Status: "connected"}, {Name: "x", Source: source, Status: status}}}
	}
	hook := func(command string) stream.Event {
		return stream.HookStarted{Commands: []stream.HookCommand{{Command: "./mine"}, {Command: command}}}
	}
	for _, ev := range []stream.Event{server("project", "connected"), server("folder", "connected"), server("project", "failed"), hook("./evil"), hook("")} {
		require.NotEmpty(t, k.forbidden(ev), "%v", ev)
	}
	for _, ev := range []stream.Event{server("user", "connected"), server("project", "connecting"), server("runtime", "connected"), hook("./mine"), hook("droid-acp hook"), stream.TextDelta{}} {
		require.Empty(t, k.forbidden(ev), "%v", ev)
	}
	text := func(s string) *string { return &s }
	for level, free := range map[string]bool{"off": false, "low": false, "medium": true, "high": true} {
		require.Equal(t, free, k.tooPermissive(stream.SettingsPatch{}, stream.Settings{AutonomyLevel: &level}) != "", level)
		require.Empty(t, k.tooPermissive(stream.SettingsPatch{AutonomyLevel: text("high")}, stream.Settings{AutonomyLevel: &level}), "as it was asked for")
	}
	require.Empty(t, k.tooPermissive(stream.SettingsPatch{}, stream.Settings{}))

	k.home = writeHome(t, map[string]string{"settings.json": `{"enabledPlugins":{"p@m":true}}`})
	require.Empty(t, k.forbidden(hook("./of a plugin")), "nobody knows the hooks of the user's plugins")
	high := "high"
	require.NotEmpty(t, k.tooPermissive(stream.SettingsPatch{}, stream.Settings{AutonomyLevel: &high}), "which set no mode")
	k.home = writeHome(t, map[string]string{"org-managed-settings.cache.json": `{}`})
	require.Empty(t, k.tooPermissive(stream.SettingsPatch{}, stream.Settings{AutonomyLevel: &high}), "an organisation may")
	k.home = writeHome(t, map[string]string{"settings.json": `{"hooks":{"Stop":[]},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./mine"}]}]}}`})
	require.Empty(t, k.forbidden(hook("./mine")), "droid reads a file of the user's that this program does not")
	k.home, k.own = writeHome(t, nil), true
	require.Empty(t, k.forbidden(hook("./mine")), "it stands in settings that the user has given this process")
	require.Empty(t, k.tooPermissive(stream.SettingsPatch{}, stream.Settings{AutonomyLevel: &high}))
	require.NotEmpty(t, k.forbidden(server("project", "connected")))
}
