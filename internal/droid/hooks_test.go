package droid

import (
	"context"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// ours are hooks as this program has them.
var ours = []Hook{
	{Event: "PreToolUse", Matcher: "Read|Edit", Command: "droid-acp x", Timeout: 2500 * time.Millisecond},
	{Event: "PostToolUse", Command: "droid-acp y"},
}

const (
	oursPre  = `{"matcher":"Read|Edit","hooks":[{"type":"command","command":"droid-acp x","timeout":3}]}`
	oursPost = `{"hooks":[{"type":"command","command":"droid-acp y"}]}`
	noMCP    = `"mcp":{"mcpServers":{}}`
)

// startVersion starts a droid that reports this protocol version.
func startVersion(t *testing.T, version string, env ...string) *Client {
	t.Helper()
	c := startTaking(t, append(env, envFakeVersion+"="+version)...)
	if version != "" {
		want, err := stream.ParseVersion(version)
		require.NoError(t, err)
		require.Equal(t, want, c.AwaitVersion(testContext(t)))
	}
	return c
}

// settingsOf opens a session and returns the content of the settings file at that time.
func settingsOf(t *testing.T, c *Client) string {
	t.Helper()
	if !c.Version().IsZero() {
		<-c.Events() // the line with the version
	}
	_, err := c.Initialize(testContext(t), InitializeParams{CWD: "/x"})
	require.NoError(t, err)
	_, text := toldSettings(t, c)
	return text
}

// A droid that runs the user's hooks as well gets ours alone.
func TestHooksInAdditionToUsers(t *testing.T) {
	home := realDir(t)
	writeSettings(t, home, `no JSON, and nobody reads it`)
	c := startVersion(t, "1.206.0", envHome+"="+home)
	require.NoError(t, c.SetRuntime(Runtime{Hooks: ours, MCPServers: []stream.MCPServer{{Name: "m", URL: "http://m/"}}}))
	require.JSONEq(t, `{"mcp":{"mcpServers":{"m":{"type":"http","url":"http://m/"}}},
		"hooks":{"PreToolUse":[`+oursPre+`],"PostToolUse":[`+oursPost+`]}}`, settingsOf(t, c))
}

// A droid that would drop the user's hooks gets them with ours, theirs first.
func TestHooksWithTheUsers(t *testing.T) {
	home := realDir(t)
	writeSettings(t, home, `{"hooks":{"PreToolUse":`+hooksOf("lint")+`,"Stop":`+hooksOf("bell")+`}}`)
	c := startVersion(t, "1.15.0", envHome+"="+home)
	require.NoError(t, c.SetRuntime(Runtime{Hooks: ours, CWD: home}))
	require.JSONEq(t, `{`+noMCP+`,"hooks":{"PreToolUse":[
		{"matcher":"Read","hooks":[{"type":"command","command":"lint"}]},`+oursPre+`],"PostToolUse":[`+oursPost+`]}}`,
		settingsOf(t, c), "events without a hook of ours are not touched")
}

// If the user's hooks cannot be read, droid has its MCP servers and no hooks.
func TestNoHooksInPlaceOfTheUsers(t *testing.T) {
	home := realDir(t)
	writeSettings(t, home, `{`)
	c := startVersion(t, "1.15.0", envHome+"="+home)
	err := c.SetRuntime(Runtime{Hooks: ours, CWD: home, MCPServers: []stream.MCPServer{{Name: "m", URL: "http://m/"}}})
	require.ErrorIs(t, err, ErrHooks)
	require.ErrorContains(t, err, filepath.Join(home, ".factory", "settings.json"))
	require.JSONEq(t, `{"mcp":{"mcpServers":{"m":{"type":"http","url":"http://m/"}}}}`, settingsOf(t, c))
}

// A droid that has not said its version gets no hooks.
func TestNoHooksForAnUnknownVersion(t *testing.T) {
	c := startVersion(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.True(t, c.AwaitVersion(ctx).IsZero())
	require.ErrorIs(t, c.SetRuntime(Runtime{Hooks: ours, CWD: t.TempDir()}), ErrHooks)
	require.JSONEq(t, `{`+noMCP+`}`, settingsOf(t, c))
}

// A settings file that cannot be written is a separate error: it is unknown which settings droid has.
func TestUnwritableSettings(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the settings are a file that can be written at any time")
	}
	c := startVersion(t, "1.206.0")
	c.Kill()
	<-c.Exited()
	err := c.SetRuntime(Runtime{Hooks: ours})
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrHooks)
}

// A droid that has said nothing is asked, and its refusal has the version.
func TestAwaitVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newPeer(t, "1.15.0")
		told := make(chan stream.Version, 1)
		go func() { told <- c.AwaitVersion(t.Context()) }()
		p.expect(methodVersion)
		synctest.Wait()
		require.Empty(t, told, "it waits")
		p.refuse("null", -32600, "Invalid request format")
		require.Equal(t, stream.Version{Major: 1, Minor: 15}, <-told)
		require.Equal(t, stream.Version{Major: 1, Minor: 15}, c.AwaitVersion(t.Context()), "it is not asked again")
	})
	synctest.Test(t, func(t *testing.T) {
		c, p := newPeer(t, "1.220.0")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.True(t, c.AwaitVersion(ctx).IsZero())
		p.out.Close()
		require.True(t, c.AwaitVersion(t.Context()).IsZero(), "droid is gone")
	})
}

// Settings that a droid 0.99 gets while it looks for MCP servers at its start are read by
// half, so it is left alone until then; no other droid is waited for.
func TestAwaitStart(t *testing.T) {
	for version, waits := range map[string]bool{"1.15.0": true, "1.220.0": false} {
		synctest.Test(t, func(t *testing.T) {
			c, p := newPeer(t, version)
			started := time.Now()
			told := make(chan stream.Version, 3)
			await := func() { told <- c.AwaitStart(t.Context()) }
			go await()
			p.expect(methodVersion)
			p.refuse("null", -32600, "Invalid request format")
			synctest.Wait()
			require.Equal(t, waits, len(told) == 0, version)
			if waits {
				go await()
				time.Sleep(shortBounds.look)
				synctest.Wait()
				require.Len(t, told, 2, "it never says so")
				go await()
				synctest.Wait()
				p.notify(`{"type":"mcp_status_changed","servers":[]}`)
			}
			require.False(t, (<-told).IsZero())
			require.Less(t, time.Since(started), 2*shortBounds.look)
		})
	}
}

// A droid run by the caller may have a settings file, too.
func TestSettingsOfAnotherOnesDroid(t *testing.T) {
	home := realDir(t)
	t.Setenv(envHome, home)
	writeSettings(t, home, `{"hooks":{"PreToolUse":`+hooksOf("lint")+`}}`)
	var held string
	c, p := newPeerOf(t, "1.15.0", func(stdout io.Reader, stdin io.WriteCloser) *Client {
		return NewClientWithSettings(stdout, stdin, func(data []byte) error { held = string(data); return nil }, nil)
	})
	require.True(t, c.TakesRuntime())
	known := async(func() error {
		c.AwaitVersion(t.Context())
		return nil
	})
	p.refuse(strconv.Quote(p.expect(methodVersion).ID), -32600, "Invalid request format")
	<-known
	require.NoError(t, c.SetRuntime(Runtime{Hooks: ours[:1], CWD: home}))
	require.JSONEq(t, `{`+noMCP+`,"hooks":{"PreToolUse":[
		{"matcher":"Read","hooks":[{"type":"command","command":"lint"}]},`+oursPre+`]}}`, held)
}
