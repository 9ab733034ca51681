package serve

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The metrics count what happens, in the text format of Prometheus.
func TestMetrics(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		asked := c.prompts(a, "s1", "Say hello.")
		time.Sleep(3 * time.Second)
		a.chunk("s1", "Hello")
		a.chunk("s1", " there.")
		metrics := func() string {
			t.Helper()
			var b strings.Builder
			require.NoError(t, h.WriteMetrics(&b))
			for line := range strings.Lines(b.String()) {
				require.Regexp(t, regexp.MustCompile(`^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[\w/+.-]+"\})? [0-9.]+)\n$`), line)
			}
			return b.String()
		}
		c.take()
		for _, line := range []string{"droid_acp_connections 1\n", "droid_acp_agents 1\n", `droid_acp_sessions{state="running"} 1`, `droid_acp_sessions{state="idle"} 0`, "droid_acp_draining 0\n"} {
			require.Contains(t, metrics(), line)
		}
		require.NotContains(t, metrics(), "memory")
		h.Memory = func(processes []int) (int64, error) { return int64(len(processes)) << 20, nil }
		waiting := []rpcMessage{c.prompts(a, "s1", "two"), c.prompts(a, "s1", "three")}
		for _, line := range []string{"droid_acp_waiting_prompts 2\n", `droid_acp_queued_bytes{to="clients"} 7`, `droid_acp_queued_bytes{to="journals"} 0`, "droid_acp_agents_memory_bytes 1048576\n"} {
			require.Contains(t, metrics(), line)
		}
		for _, prompt := range waiting {
			a.answer(prompt, `{"stopReason":"cancelled"}`)
		}
		a.answer(asked, `{"stopReason":"end_turn"}`)
		a.works("s1", false)
		c.say(`{"jsonrpc":"2.0","id":"q","method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`)
		a.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32603,"message":"No.","data":{"kind":"droid_not_found\"}\n"}}}`, a.next().ID)
		c.say(`[]`)
		h.CountRefusal(401)
		c.take()
		for _, line := range []string{
			`droid_acp_turns_total{stop="end_turn"} 1`, `droid_acp_turns_total{stop="error"} 1`, `droid_acp_errors_total{kind="droid_not_found"} 1`,
			`droid_acp_refusals_total{of="message"} 1`, `droid_acp_refusals_total{of="connection_401"} 1`,
			`droid_acp_first_delta_seconds_bucket{le="2"} 0`, `droid_acp_first_delta_seconds_bucket{le="5"} 1`, `droid_acp_first_delta_seconds_bucket{le="+Inf"} 1`,
			"droid_acp_first_delta_seconds_sum 3\n", "droid_acp_first_delta_seconds_count 1\n",
		} {
			require.Contains(t, metrics(), line)
		}
		for i := range 2 * maxCounters {
			h.metrics.count(metricErrors, "kind", strings.Repeat("x", i%39)+"y"+strings.Repeat("z", i/39))
		}
		require.Less(t, strings.Count(metrics(), metricErrors), maxCounters+5)
		page, err := os.ReadFile("../../../docs/operating.md")
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`# TYPE (\w+)`).FindAllStringSubmatch(metrics(), -1) {
			require.Regexp(t, "`"+m[1]+"[`{]", string(page), "its row is missing")
		}
		require.Contains(t, metrics(), `{kind="other"}`)
	})
}

// A server is ready unless it drains, no agent works, or the last one did not start.
func TestReady(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		require.NoError(t, h.CheckReady())
		h.fail = errors.New("no such file")
		c, a := h.client("Zed", everything)
		c.asksNew()
		c.take()
		require.EqualError(t, h.CheckReady(), "no such file")
		h.fail = nil
		c.opens(a, "s1")
		require.NoError(t, h.CheckReady())
		h.Ready = func() error { return errors.New("no droid") }
		require.EqualError(t, h.CheckReady(), "no droid")
		h.Ready = nil
		require.NoError(t, h.Drain(t.Context()))
		require.ErrorContains(t, h.CheckReady(), "accepts no new sessions")
	})
}
