//go:build e2e && linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// loginLimit is what droid may take to answer authenticate without a network; 0.7 to
// 1.3 s were seen.
const loginLimit = 90 * time.Second

// Without a network droid's own error is the answer, and droid is gone afterwards.
func TestLoginOffline(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		c := startAgent(t, h).initialize()
		for method, says := range map[string]string{
			"device-pairing":  "Device authentication failed",
			"factory-login":   "Device authentication failed",
			"factory-api-key": "API key authentication failed",
		} {
			_, l := c.response(c.request("authenticate", map[string]any{"methodId": method}), loginLimit)
			require.NotNil(t, l.Error, method)
			require.Equal(t, -32603, l.Error.Code)
			require.Contains(t, l.Error.Message, says)
		}
		h.awaitNone(t, loginLimit, loggingIn)
		for _, method := range []string{"logout", "auth/status"} {
			_, err := c.call(method, map[string]any{})
			require.NotNil(t, err)
			require.Equal(t, -32601, err.Code)
		}
	})
}

func TestLoginCommandOffline(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		for _, args := range [][]string{{"login"}, {"acp", "--login"}} {
			cmd := exec.Command(programs.Agent, append([]string{"--droid", h.droid}, args...)...)
			var stdout, stderr bytes.Buffer
			cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = h.env, h.work, &stdout, &stderr
			require.Error(t, cmd.Run())
			require.Equal(t, 1, cmd.ProcessState.ExitCode())
			require.Contains(t, stderr.String(), "Device authentication failed")
			require.Contains(t, stderr.String(), "Check the network")
			require.NotContains(t, stdout.String(), "is logged in")
		}
	})
}

// The registry of agents starts one with an empty HOME and without droid.
func TestAuthMethodsWithoutDroid(t *testing.T) {
	t.Parallel()
	h := newHome(t, newDroid, "http://127.0.0.1:9/v1")
	h.droid = filepath.Join(h.dir, "no-such-droid")
	h.env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	c := startAgent(t, h)
	var result struct {
		AuthMethods []struct{ ID, Type string } `json:"authMethods"`
	}
	c.mustCall("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"auth": map[string]any{"terminal": true}}}, &result)
	var ids []string
	for _, m := range result.AuthMethods {
		ids = append(ids, m.ID+m.Type)
	}
	require.Equal(t, []string{"device-pairing", "factory-api-key", "droid-acp-loginterminal"}, ids)
	_, err := c.call("authenticate", map[string]any{"methodId": "device-pairing"})
	require.NotNil(t, err)
	require.Contains(t, err.Error(), "Install Factory's droid with `")
}

// withOffice has the home's droid pair at an office, and open pages in no browser.
func withOffice(t *testing.T, h *home) *pairingOffice {
	t.Helper()
	office := newPairingOffice(t)
	browser := filepath.Join(h.dir, "browser")
	require.NoError(t, os.Mkdir(browser, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(browser, "xdg-open"), []byte("#!/bin/sh\nexit 0\n"), 0o700))
	h.env = append(slices.Clone(h.env), office.env(h.dir)...)
	h.env = append(h.env, "PATH="+browser+":"+os.Getenv("PATH"))
	return office
}

// The real droid has a code, and its address reaches a client without URL elicitation in
// the session that is open; a cancel ends the login. How a success looks was never seen,
// and is not played here.
func TestPairingInWords(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		withOffice(t, &h)
		s := startAgent(t, h).open(h)
		from := s.seen()
		id := s.request("authenticate", map[string]any{"methodId": "device-pairing"})
		_, l := s.await("the address in words", from, loginLimit, func(l line) bool {
			u, ok := asUpdate(l)
			return ok && strings.Contains(u.text(), pairingAddress)
		})
		require.Contains(t, string(l.Params), s.id)
		s.notify("$/cancel_request", map[string]any{"requestId": id})
		_, l = s.response(id, loginLimit)
		require.NotNil(t, l.Error)
		require.Equal(t, -32800, l.Error.Code)
		h.awaitNone(t, loginLimit, loggingIn)
	})
}

// loggingIn reports whether a process is a droid that logs in.
func loggingIn(p process) bool {
	return p.droid && strings.HasSuffix(strings.TrimSpace(p.command), "--output-format acp")
}

// A client with URL elicitation is asked to open the address; a refusal is droid's own.
func TestPairingByElicitation(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		office := withOffice(t, &h)
		c := startAgent(t, h)
		c.mustCall("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"elicitation": map[string]any{"url": map[string]any{}}}}, nil)
		id := c.request("authenticate", map[string]any{"methodId": "device-pairing"})
		_, l := c.await("the question", 0, loginLimit, func(l line) bool { return l.Method == "elicitation/create" })
		var p struct {
			URL       string
			RequestID int
		}
		require.NoError(t, json.Unmarshal(l.Params, &p))
		require.Equal(t, pairingAddress, p.URL)
		require.Equal(t, id, p.RequestID)
		c.write(map[string]any{"jsonrpc": "2.0", "id": l.ID, "result": map[string]any{"action": "accept"}})
		office.refuse()
		_, l = c.response(id, loginLimit)
		require.NotNil(t, l.Error)
		require.Equal(t, -32603, l.Error.Code)
		require.Contains(t, l.Error.Message, "Authorization failed or expired")
		h.awaitNone(t, loginLimit, loggingIn)
	})
}

// The same in a terminal: the address, and then Ctrl-C, or an end without warning. droid
// goes, too.
func TestPairingInATerminal(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		withOffice(t, &h)
		for signal, code := range map[os.Signal]int{os.Interrupt: 1, os.Kill: -1} {
			cmd := exec.Command(programs.Agent, "--droid", h.droid, "login")
			cmd.Env, cmd.Dir = h.env, h.work
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			seen := false
			for lines := bufio.NewScanner(stdout); lines.Scan(); {
				if strings.TrimSpace(lines.Text()) == pairingAddress {
					seen = true
					require.NoError(t, cmd.Process.Signal(signal))
				}
			}
			require.Error(t, cmd.Wait())
			require.True(t, seen)
			require.Equal(t, code, cmd.ProcessState.ExitCode())
			h.awaitNoDroid(t, loginLimit)
		}
	})
}
