package via

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/acptest"
)

// next returns the ID and the params of the far side's next message.
func (r *rig) next(method string) (id string, params map[string]any) {
	r.t.Helper()
	var m struct {
		ID     json.RawMessage
		Method string
		Params map[string]any
	}
	require.NoError(r.t, json.Unmarshal([]byte(r.away.Line()), &m))
	require.Equal(r.t, method, m.Method)
	return string(m.ID), m.Params
}

func metaOf(params map[string]any) map[string]any {
	meta, _ := params["_meta"].(map[string]any)
	own, _ := meta["droid-acp"].(map[string]any)
	return own
}

// A link to a far side that keeps sessions is made again when it is cut: the session is loaded behind what the editor has, and the prompt
// goes on. When the editor goes, all ends.
func TestLinkComesBack(t *testing.T) {
	dir, err := os.MkdirTemp("", "via") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "far"))
	require.NoError(t, err)
	defer l.Close()
	r := newRig(t, "/l=/r", os.Args[0], "far", l.Addr().String())
	r.relay.Keeps = true
	accept := func() {
		r.far, err = l.Accept()
		require.NoError(t, err)
		r.away = acptest.NewPeer(t, r.far, r.far)
	}
	const answer = `{"jsonrpc":"2.0","id":%,"result":{"protocolVersion":1,"agentInfo":{"name":"droid-acp","version":"1.2.3"},"_meta":{"droid-acp":{"cursors":true}}}}`
	answers := func(id, line string) {
		t.Helper()
		r.away.Say(line[:len(`{"jsonrpc":"2.0","id":`)] + id + line[len(`{"jsonrpc":"2.0","id":%`):])
	}
	r.run(t.Context())
	accept()
	r.near.Say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	id, params := r.next("initialize")
	client := metaOf(params)["clientId"]
	require.NotEmpty(t, client)
	answers(id, answer)
	require.Contains(t, r.near.Line(), `"cursors":true`)
	r.next("_droid-acp/alive")
	r.near.Say(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/l/a","mcpServers":[]}}`)
	id, _ = r.next("session/new")
	answers(id, `{"jsonrpc":"2.0","id":%,"result":{"sessionId":"s1","_meta":{"droid-acp":{"epoch":"e","line":1}}}}`)
	require.Contains(t, r.near.Line(), `"s1"`)
	r.near.Say(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`)
	_, params = r.next("session/prompt")
	operation := metaOf(params)["operationId"]
	require.NotEmpty(t, operation)
	const chunk = `{"jsonrpc":"2.0","method":"session/update","params":{"_meta":{"droid-acp":{"epoch":"e","line":7}},"sessionId":"s1","update":{}}}`
	require.Equal(t, chunk, r.toNear(chunk))

	require.NoError(t, r.far.Close()) // its program ends
	accept()
	r.next("_droid-acp/alive")
	id, params = r.next("initialize")
	require.Equal(t, client, metaOf(params)["clientId"])
	answers(id, answer)
	id, params = r.next("session/load")
	require.Equal(t, map[string]any{"epoch": "e", "line": 7.0}, metaOf(params)["after"])
	require.Equal(t, "/r/a", params["cwd"])
	answers(id, `{"jsonrpc":"2.0","id":%,"result":{}}`)
	id, params = r.next("session/prompt")
	require.Equal(t, operation, metaOf(params)["operationId"])
	answers(id, `{"jsonrpc":"2.0","id":%,"result":{"stopReason":"end_turn"}}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`, r.near.Line())
	require.Contains(t, r.stderr.String(), "droid-acp via: the link to the server was cut")
	require.Contains(t, r.stderr.String(), "droid-acp via: the link to the server is back")
	r.end()
}

// Without cursors a link that is cut is the end, as of any far side.
func TestLinkOfAnother(t *testing.T) {
	r := connected(t, "", func(relay *Relay) { relay.Keeps = true })
	r.near.Say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	r.next("initialize")
	r.toNear(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`)
	r.near.Say(`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`)
	r.next("session/list")
	require.NoError(t, r.far.Close())
	require.Contains(t, r.near.Line(), `{"jsonrpc":"2.0","id":2,"error"`)
	require.Error(t, <-r.ended)
}
