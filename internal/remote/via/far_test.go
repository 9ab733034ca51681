package via

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFarSideGetsNoTerminals: the far side runs no command on this machine, nor is it told that it could,
// unless --far-terminals says otherwise.
func TestFarSideGetsNoTerminals(t *testing.T) {
	const ask = `{"id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true},"terminal":true,"_meta":{"terminal":true}}}}`
	const create = `"method":"terminal/create","params":{"sessionId":"s","command":"sh","args":["-c","id"],"cwd":"/r"}}`
	const log = `{"id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"%s"},"authMethods":[{"id":"a","type":"terminal","args":["login"],"env":{"LD_PRELOAD":"/l/x.so"}},{"id":"b","_meta":{"terminal-auth":{"command":"sh","args":["-c","id"],"env":{"LD_PRELOAD":"/l/x.so"}}}}]}}`
	r := connected(t, "/l=/r")
	require.Equal(t, strings.Replace(ask, `"terminal":true,"_meta"`, `"terminal":false,"_meta"`, 1), r.toFar(ask))
	require.Equal(t, `{"id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"other"},"authMethods":[{"id":"a","type":"terminal","args":["login"],"env":{}},{"id":"b","_meta":{"terminal-auth":null}}]}}`,
		r.toNear(strings.Replace(log, "%s", "other", 1)))
	require.Contains(t, r.refusedFar(`{"id":8,`+create), `"id":8,"error":{"code":-32601,"message":"Method not found: the far side gets no terminals on the editor's machine, unless droid-acp via is started with --far-terminals`)
	require.Contains(t, r.refusedFar(`{"id":9,"method":"terminal/kill","params":{"terminalId":"t"}}`), `"code":-32601`)
	require.Equal(t, `{"method":"x"}`, r.toNear(`{`+create+"\n"+`{"method":"x"}`), "a notification is dropped")
	r.toFar(ask)
	own := r.toNear(strings.Replace(log, "%s", "droid-acp", 1))
	require.Contains(t, own, `"env":{}},{"id":"b"`)
	require.Contains(t, own, `{"args":["far",`)
	require.NotContains(t, own, "LD_PRELOAD")
	r.end()

	r = newRig(t, "", "x")
	r.relay.FarTerminals = true
	require.Equal(t, ask, string(r.relay.fromNear([]byte(ask))))
	require.Equal(t, `{"id":8,`+create, string(r.relay.fromFar([]byte(`{"id":8,`+create))))
	other := strings.Replace(log, "%s", "other", 1)
	require.Equal(t, other, string(r.relay.fromFar([]byte(other))))
}

// TestFarSideStaysInTheMaps: neither a notification nor a path that is relative, missing or of another type
// reaches a file here that is in no map.
func TestFarSideStaysInTheMaps(t *testing.T) {
	r := connected(t, "/l=/r")
	for _, params := range []string{`{"path":"/etc/passwd"}`, `{"path":"a.txt"}`, `{"path":""}`, `{"path":7}`, `{"content":"x"}`, `["/etc/passwd"]`, `{"path":"/r/a","PATH":"/etc/passwd"}`} {
		for _, method := range []string{"fs/write_text_file", "fs/read_text_file"} {
			require.Contains(t, r.refusedFar(`{"id":6,"method":"`+method+`","params":`+params+`}`), `"id":6,"error":{"code":-32602`, params)
			require.Equal(t, `{"method":"x"}`, r.toNear(`{"method":"`+method+`","params":`+params+`}`+"\n"+`{"method":"x"}`), params)
		}
	}
	require.Contains(t, r.refusedFar(`{"id":6,"method":"fs/write_text_file"}`), `"id":6,"error":{"code":-32602`)
	require.Equal(t, `{"method":"x"}`, r.toNear(`{"method":"fs/write_text_file"}`+"\n"+`{"method":"x"}`))
	r.end()
}

// TestLinksOfThisSide: a symbolic link below a map leads nowhere that is in no map, though the file is
// still to be made.
func TestLinksOfThisSide(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a right there")
	}
	dir := t.TempDir()
	work, secret := filepath.Join(dir, "work"), filepath.Join(dir, "secret")
	for _, d := range []string{work, secret, filepath.Join(dir, "other")} {
		require.NoError(t, os.Mkdir(d, 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(secret, "key"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(work, "a"), nil, 0o600))
	for name, to := range map[string]string{
		"out": secret, "key": filepath.Join(secret, "key"), "none": filepath.Join(secret, "none"), "up": "..", "in": "a", "here": work, "loop": "loop", "other": filepath.Join(dir, "other"), "back": "up/work/a",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(work, name)))
	}
	require.NoError(t, os.Symlink(work, filepath.Join(dir, "map"))) // a map may be a link itself
	r := connected(t, filepath.Join(dir, "map")+"=/r "+filepath.Join(dir, "other")+"=/o")
	ask := func(path string) string {
		return `{"id":6,"method":"fs/write_text_file","params":{"path":"` + path + `","content":"x"}}`
	}
	for _, path := range []string{"out/key", "key", "none", "out/new", "up/secret/key", "loop", "here/key", "a/b", "here/here/up/secret/new/newer"} {
		refused := r.refusedFar(ask("/r/" + path))
		require.Contains(t, refused, `"id":6,"error":{"code":-32602`, path)
		require.NotContains(t, refused, secret)
	}
	for _, path := range []string{"a", "new", "new/newer", "in", "here/a", "here/here/new", "other/x", "back", "up/work/a"} {
		require.Equal(t, ask(filepath.Join(dir, "map", path)), r.toNear(ask("/r/"+path)), "the editor knows the file by this name")
	}
	r.end()
}
