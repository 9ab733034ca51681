package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDistRegistryEntryPassesTheCheck unpacks the entry as its folder in the
// registry, and does what the registry's check does with it: the rules, and a program
// that is started as the entry says and has 120 s to answer.
func TestDistRegistryEntryPassesTheCheck(t *testing.T) {
	d, here := openDist(t), needsLinux(t)
	file := d.file("registry-entry.tar.gz")
	if _, err := os.Stat(file); err != nil {
		t.Skip("the release was made without an address: BASE_URL")
	}
	registry := t.TempDir()
	unpackTo(t, file, registry)
	folders, err := os.ReadDir(registry)
	require.NoError(t, err)
	require.Len(t, folders, 1)
	folder := filepath.Join(registry, folders[0].Name())
	e := requireEntry(t, folders[0].Name(), d.version, d.read(t, filepath.Join(folder, "agent.json")))
	for platform, target := range e.Distribution.Binary {
		sum, err := (&release{Options: Options{Out: d.dir}}).checksum(filepath.Base(target.Archive))
		require.NoError(t, err, platform)
		require.Equal(t, sum, target.SHA256, platform)
	}
	target := e.Distribution.Binary[here.OS+"-"+registryArch[here.Arch]]
	sandbox := t.TempDir()
	unpackTo(t, filepath.Join(d.dir, filepath.Base(target.Archive)), sandbox)
	requireSignIn(t, filepath.Join(sandbox, target.Cmd), sandbox)
}

// requireSignIn starts an agent as the registry's check does, without droid, and looks
// for a way to sign in that it accepts.
func requireSignIn(t *testing.T, program, dir string) {
	t.Helper()
	cmd := bare(t, program)
	cmd.Dir, cmd.Env = dir, append(cmd.Env, "TERM=dumb")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	late := time.AfterFunc(120*time.Second, func() { cmd.Process.Kill() })
	defer late.Stop()
	_, err = io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,`+
		`"clientInfo":{"name":"ACP Registry Validator","version":"1.0.0"},"clientCapabilities":{"terminal":true,`+
		`"fs":{"readTextFile":true,"writeTextFile":true},"_meta":{"terminal_output":true,"terminal-auth":true}}}}`+"\n")
	require.NoError(t, err)
	lines := bufio.NewReader(stdout)
	first, err := lines.ReadBytes('\n')
	require.NoError(t, err, "the first line of stdout is the answer")
	var answer struct {
		ID     int
		Error  json.RawMessage
		Result struct {
			AuthMethods []struct {
				ID, Name, Type string
				Meta           map[string]json.RawMessage `json:"_meta"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(first, &answer), string(first))
	require.Equal(t, 1, answer.ID)
	require.Empty(t, answer.Error)
	ways := 0
	for _, m := range answer.Result.AuthMethods {
		if m.Type == "" || m.Type == "agent" || m.Type == "terminal" { // without a type it is agent's or terminal's
			require.NotEmpty(t, m.ID)
			require.NotEmpty(t, m.Name)
			ways++
		}
	}
	require.NotZero(t, ways, string(first))
	require.NoError(t, stdin.Close())
	_, err = io.Copy(io.Discard, lines)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait(), "it ends well when the check hangs up")
}
