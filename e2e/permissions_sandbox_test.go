//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// socatEnv makes this test binary a socat that listens and forwards nothing.
const socatEnv = "DROID_ACP_E2E_SOCAT"

// pretendSocat creates the socket that droid waits for and stays until its parent has exited.
func pretendSocat(args []string) int {
	for _, arg := range args {
		path, ok := strings.CutPrefix(arg, "UNIX-LISTEN:")
		if !ok {
			continue
		}
		path, _, _ = strings.Cut(path, ",")
		l, err := net.Listen("unix", path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for parent := os.Getppid(); os.Getppid() == parent; {
			time.Sleep(time.Second)
		}
		_ = l.Close()
	}
	return 0
}

// sandboxed enables the sandbox of h's droid, which requires bwrap and socat. droid's own reading and writing of files does not use them,
// so programs that do nothing replace them.
func (h *home) sandboxed(t *testing.T, sandbox map[string]any) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	bin := filepath.Join(h.dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	for name, script := range map[string]string{
		"bwrap": "#!/bin/sh\nexit 0\n",
		"socat": fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", socatEnv, self),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755))
	}
	for i, v := range h.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			h.env[i] = "PATH=" + bin + string(os.PathListSeparator) + path
		}
	}
	h.changeSettings(t, func(settings map[string]any) { settings["sandbox"] = sandbox })
}

// settings returns droid's settings.json.
func (h home) settings(t *testing.T) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, ".factory", "settings.json"))
	require.NoError(t, err)
	var settings map[string]any
	require.NoError(t, json.Unmarshal(data, &settings))
	return settings
}

func (h home) changeSettings(t *testing.T, change func(settings map[string]any)) {
	t.Helper()
	settings := h.settings(t)
	change(settings)
	data, err := json.Marshal(settings)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".factory", "settings.json"), data, 0o600))
}

// text returns the text shown by a permission request.
func (p permission) text(t *testing.T) string {
	t.Helper()
	var call struct{ Content []item }
	require.NoError(t, json.Unmarshal(p.ToolCall, &call))
	return itemText(call.Content)
}

// What droid's sandbox blocks is explained, and only a clear yes allows it.
func TestSandboxViolations(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		secret := filepath.Join(h.dir, "secret", "key.txt")
		outside := filepath.Join(h.dir, "outside.txt")
		require.NoError(t, os.Mkdir(filepath.Dir(secret), 0o755))
		require.NoError(t, os.WriteFile(secret, []byte("hidden words\n"), 0o644))
		h.sandboxed(t, map[string]any{"enabled": true, "mode": "per-command",
			"filesystem": map[string]any{"allowWrite": []string{h.work}, "denyRead": []string{filepath.Dir(secret)}},
			"network":    map[string]any{"allowedDomains": []string{"allowed.test"}}})
		calls := map[string]modelserver.ToolCall{
			"peek":  {ID: "peek", Name: "Read", Args: map[string]any{"file_path": secret}},
			"read":  {ID: "read", Name: "Read", Args: map[string]any{"file_path": secret}},
			"keep":  {ID: "keep", Name: "Read", Args: map[string]any{"file_path": secret}},
			"fetch": {ID: "fetch", Name: "FetchUrl", Args: map[string]any{"url": "https://blocked.test/x"}},
			"write": {ID: "write", Name: "Create", Args: map[string]any{"file_path": outside, "content": "out"}},
		}
		for word, call := range calls {
			model.On(word, modelserver.Step{Text: "I try. ", Tools: []modelserver.ToolCall{call}}, modelserver.Step{Text: "Done."})
		}
		c := startAgent(t, h)
		s := c.open(h)
		run := func(word string, answer func(permission) string) (ending, []permission) {
			before := len(c.asked())
			c.onPermission(answer)
			end := s.prompt(word).end(turnLimit)
			require.Nil(t, end.Err)
			return end, c.asked()[before:]
		}

		end, asked := run("peek", rejectOnce)
		require.Len(t, asked, 1)
		require.Contains(t, asked[0].text(t), "**Blocked by droid's sandbox:** Read wants to read\n\n```\n"+secret+"\n```")
		require.Contains(t, asked[0].text(t), "settings.json, for all sessions")
		require.NotContains(t, asked[0].text(t), "{", "no JSON")
		require.Equal(t, []string{"Yes, allow once", "No, deny"}, []string{asked[0].Options[0].Name, asked[0].Options[len(asked[0].Options)-1].Name}, "droid's own words behind a Yes or a No")
		require.Equal(t, []string{"failed"}, end.tools())
		require.NotContains(t, fmt.Sprint(end.Updates), "hidden words")

		end, asked = run("fetch", rejectOnce)
		require.Contains(t, asked[0].text(t), "FetchUrl wants to connect to\n\n```\nblocked.test\n```")
		require.Equal(t, []string{"failed"}, end.tools())

		end, _ = run("read", allowOnce)
		require.Equal(t, []string{"completed"}, end.tools())
		require.Contains(t, fmt.Sprint(end.Updates), "hidden words")

		end, asked = run("write", allowOnce)
		require.Len(t, asked, 2, "out of the sandbox, and to write")
		require.Contains(t, asked[0].text(t), "Create wants to write to")
		require.Contains(t, string(asked[0].ToolCall), `"newText":"out"`, "and what")
		require.NotContains(t, asked[1].text(t), "sandbox")
		require.Equal(t, []string{"completed"}, end.tools())
		require.FileExists(t, outside)

		_, asked = run("keep", func(p permission) string { return p.Option("allow_always") })
		require.Len(t, asked, 1)
		_, asked = run("read", noAnswer)
		require.Empty(t, asked, "it need not be asked any more")
		require.Contains(t, fmt.Sprint(h.settings(t)["sandbox"]), "allowRead:["+filepath.Dir(secret), "it is kept where the request said")
		require.Empty(t, c.modesAfter(0), "a way out of the sandbox raises no autonomy")
	})
}

// Droid Shield, which is on by default, blocks a commit of a likely secret; the call says why.
func TestDroidShield(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		require.NoError(t, os.WriteFile(filepath.Join(h.work, "keys.txt"),
			[]byte("aws_secret_access_key = \"fAkEfAkEfAkEfAkEfAkE1234567890fAkEfAkE99\"\n"), 0o644))
		for _, args := range [][]string{{"init", "-q"}, {"config", "user.email", "a@b.test"}, {"config", "user.name", "A"}, {"add", "keys.txt"}} {
			require.NoError(t, command(h.work, "git", args...))
		}
		model.On("commit", modelserver.Step{Text: "I commit. ", Tools: []modelserver.ToolCall{execute("commit", "git commit -m keys")}},
			modelserver.Step{Text: "It was stopped."})
		end := startAgent(t, h).onPermission(allowOnce).open(h).prompt("commit").end(turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, []string{"failed"}, end.tools())
		updates := end.ofTool("commit")
		text := itemText(updates[len(updates)-1].items())
		require.Contains(t, text, "Droid-Shield")
		require.Contains(t, text, "keys.txt:1")
		require.Error(t, command(h.work, "git", "rev-parse", "HEAD"), "nothing was committed")
		require.True(t, strings.HasSuffix(end.text(), "It was stopped."), "%q", end.text())
	})
}
