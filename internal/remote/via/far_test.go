package via

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
)

// The far side runs no command on this machine, nor is it offered that, unless --far-terminals allows it.
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
	require.Contains(t, r.away.Line(), relay.HeartbeatMethod)
	r.end()

	r = newRig(t, "", "x")
	r.relay.FarTerminals = true
	require.Equal(t, ask, string(r.relay.fromNear([]byte(ask))))
	require.Equal(t, `{"id":8,`+create, string(r.relay.fromFar([]byte(`{"id":8,`+create))))
	other := strings.Replace(log, "%s", "other", 1)
	require.Equal(t, other, string(r.relay.fromFar([]byte(other))))
}

// Neither a notification nor a path that is relative, missing or of another type reaches a file here that no map covers.
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

// A symbolic link below a map leads to nothing outside of the maps, even for a file that does not exist yet.
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

// Without maps the far side may access files below the directories of the sessions that the editor has opened, by any method, and no
// others: not through "..", a link, or a directory that it names itself.
func TestFarSideStaysInTheSessions(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, d := range []string{"work", "work2", "more", "home"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, d), 0o700))
	}
	r := newRig(t, "", "x")
	farSays := func(line string) (passed, answer string) {
		t.Helper()
		far := new(bytes.Buffer)
		r.relay.far = jsonrpc.NewOutbox(far, relay.Batch)
		passed = string(r.relay.fromFar([]byte(line)))
		r.relay.far.Close()
		r.relay.far.Run()
		return passed, far.String()
	}
	ask := func(method, path string) string {
		return `{"id":6,"method":"fs/` + method + `","params":{"sessionId":"s","path":` + strconv.Quote(path) + `}}`
	}
	refused := func(path string) {
		t.Helper()
		for _, method := range []string{"read_text_file", "write_text_file"} {
			passed, answer := farSays(ask(method, path))
			require.Empty(t, passed)
			require.Contains(t, answer, `"id":6,"error":{"code":-32602,"message":"Invalid params: path is `)
		}
	}
	passes := func(path string) {
		t.Helper()
		for _, method := range []string{"read_text_file", "write_text_file"} {
			passed, answer := farSays(ask(method, path))
			require.Equal(t, ask(method, path), passed, answer)
		}
	}
	refused(filepath.Join(dir, "work", "a"))
	for method, d := range map[string]string{"new": "work", "load": "loaded", "resume": "resumed", "fork": "forked"} {
		line := fmt.Sprintf(`{"id":1,"method":"session/%s","params":{"cwd":%q,"mcpServers":[{"command":%q}],"additionalDirectories":[%q]}}`,
			method, filepath.Join(dir, d), filepath.Join(dir, "home", "mcp"), filepath.Join(dir, "more", d))
		require.Equal(t, line, string(r.relay.fromNear([]byte(line))))
		passes(filepath.Join(dir, d, "a"))
		passes(filepath.Join(dir, "more", d, "new", "a"))
	}
	passes(filepath.Join(dir, "work", ".", "a"))
	_, answer := farSays(ask("write_text_file", filepath.Join(dir, "home", ".bashrc")))
	require.Contains(t, answer, `, which is below no directory of a session that the editor has asked for; `+
		`droid-acp via lets the far side have other files with --map LOCAL=REMOTE, such as --map /src=/src"`)
	for _, path := range []string{"home/mcp", "home/.bashrc", "work2/a", "more/a", "", "work/../home/.bashrc", "work/x/../a"} {
		refused(dir + "/" + path)
	}
	for _, line := range []string{ // none of these opens a session here
		`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"session_info_update","cwd":%q}}}`,
		`{"id":9,"method":"session/new","params":{"cwd":%q}}`, `{"id":1,"result":{"sessions":[{"cwd":%[1]q}],"cwd":%[1]q}}`,
	} {
		line = fmt.Sprintf(line, filepath.Join(dir, "home"))
		passed, _ := farSays(line)
		require.Equal(t, line, passed)
	}
	list := fmt.Sprintf(`{"id":1,"method":"session/list","params":{"cwd":%q}}`, filepath.Join(dir, "home"))
	require.Equal(t, list, string(r.relay.fromNear([]byte(list))))
	refused(filepath.Join(dir, "home", "a"))
	for _, params := range []string{
		`{"path":"a.txt"}`, `{"path":7}`, `{"content":"x"}`, fmt.Sprintf(`{"path":%q,"PATH":"/etc/passwd"}`, filepath.Join(dir, "work", "a")),
	} {
		passed, answer := farSays(`{"id":6,"method":"fs/write_text_file","params":` + params + `}`)
		require.Empty(t, passed)
		require.Contains(t, answer, `"id":6,"error":{"code":-32602`, params)
		passed, answer = farSays(`{"method":"fs/write_text_file","params":` + params + `}`)
		require.Empty(t, passed+answer, params)
	}
	if runtime.GOOS != "windows" { // on Windows links need a privilege
		require.NoError(t, os.Symlink(filepath.Join(dir, "home"), filepath.Join(dir, "work", "out")))
		refused(filepath.Join(dir, "work", "out", "a"))
	}
}

// Windows paths are compared as Windows does, and the number of directories is limited.
func TestSessionDirectories(t *testing.T) {
	r := newRig(t, "", "x")
	opens := func(directory string) {
		require.NotNil(t, r.relay.fromNear(fmt.Appendf(nil, `{"id":1,"method":"session/new","params":{"cwd":%q}}`, directory)))
	}
	has := func(path string) bool {
		d, ok := readPath(path)
		return ok && r.relay.reachableMaps().find(near, &d) >= 0
	}
	opens(`C:\Src\App`)
	opens(`\\wsl$\Ubuntu\home\me`)
	for path, want := range map[string]bool{
		`c:\src\app`: true, `C:/SRC/app/a.go`: true, `\\wsl.localhost\ubuntu\home\me\a`: true,
		`C:\src\application`: false, `\\wsl$\Ubuntu\home\you`: false, `D:\src\app`: false, `/Src/App`: false,
		`C:\src\app\..\x`: false, `C:\src\app\a:stream`: false, `C:\src\app\NUL`: false,
	} {
		require.Equal(t, want, has(path), path)
	}
	for _, none := range []string{"", "src", "../src", "/src/..", `\\server`, "C:", "~"} {
		opens(none)
	}
	require.Len(t, r.relay.reachableMaps(), 2, "what names no directory by itself")
	for i := range mostDirectories {
		opens(fmt.Sprintf("/w%d", i%mostDirectories))
		opens("/w0/")
	}
	require.Len(t, r.relay.reachableMaps(), mostDirectories)
	require.False(t, has(`C:\src\app`), "the oldest")
	require.True(t, has("/w0/a"), "asked for again and again")
	require.True(t, has("/w1/a"))
	opens("/w0")
	require.Len(t, r.relay.reachableMaps(), mostDirectories, "the same")
}
