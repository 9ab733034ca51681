package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/diagnosis"
)

// Each wrong call of via is reported with the right usage.
func TestViaUsage(t *testing.T) {
	for args, want := range map[string]string{
		"via":                        "droid-acp: via needs the command that runs the agent, such as ssh HOST droid-acp",
		"via --map /a=/b --":         "droid-acp: via needs the command that runs the agent, such as ssh HOST droid-acp",
		"via --map /a -- ssh h":      `droid-acp: the map "/a" has no =: it must be LOCAL=REMOTE`,
		"via --map /a=~/b -- ssh h":  `has a ~ behind the =`,
		"via --nonsense -- ssh host": "droid-acp: unknown flag: --nonsense",
	} {
		r := command("", strings.Fields(args)...)
		require.Equal(t, exitUsage, r.code, args)
		require.Contains(t, r.stderr, want)
		require.Contains(t, r.stderr, "Run "+diagnosis.Command("via", "--help")+" for the usage.")
		require.Empty(t, r.stdout)
	}
}

// The editor gets the reason on its request, and its log on stderr.
func TestViaFails(t *testing.T) {
	r := command(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`+"\n", "via", "--map", "~/src=/src", "no-such-program", "--flag", "-x")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stdout, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"The program no-such-program is not on this machine, or not in the PATH that the editor starts programs with.`)
	require.Contains(t, r.stdout, `"kind":"far_no_command"`)
	require.Contains(t, r.stderr, "droid-acp via: The program no-such-program is not on this machine")
}

// TestViaErrorsAsTheClientShowsThem: no sentence stands twice.
func TestViaErrorsAsTheClientShowsThem(t *testing.T) {
	const first, rest = "The program no-such-program is not on this machine, or not in the PATH that the editor starts programs with.", "Install it, or write its whole path behind -- in the editor's configuration."
	for client, want := range map[string]string{
		`null`:                      `{"code":-32603,"message":"` + first + " " + rest + `","data":{"kind":"far_no_command"}}`,
		`{"name":"some-editor"}`:    `{"code":-32603,"message":"` + first + `","data":{"details":"` + rest + `","kind":"far_no_command"}}`,
		`{"name":"toad"}`:           `{"code":-32603,"message":"` + first + `","data":{"details":"` + first + " " + rest + `","kind":"far_no_command"}}`,
		`{"name":"zed"}`:            `{"code":-32603,"message":"` + first + " " + rest + `"}`,
		`{"name":"JetBrains.IDEA"}`: `{"code":-32603,"message":"` + first + `","data":{"details":"` + rest + `","kind":"far_no_command"}}`,
	} {
		r := command(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":`+client+"}}\n", "via", "no-such-program")
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"error":`+want+"}\n", r.stdout, client)
		require.Contains(t, r.stderr, first+" "+rest)
	}
	r := command(`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"some-editor"}}}`+"\n"+`{"id":5,"method":"session/new","params":{"cwd":"/etc"}}`+"\n", "via", "--map", "/l=/r", "no-such-program")
	require.Contains(t, r.stdout, `"message":"Invalid params: cwd is \"/etc\", which is outside of every directory that the far side has: /l=/r.","data":{"details":"Open something below one of them, or`)
}
