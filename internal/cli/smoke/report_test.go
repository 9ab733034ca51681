package smoke

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// Report joins the session and asks for the report. It returns with the answer, though the server keeps the connection.
func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serverIn, out := io.Pipe()
		in, serverOut := io.Pipe()
		var calls []string
		server := jsonrpc.New(serverIn, serverOut, func(c *jsonrpc.Call) {
			calls = append(calls, c.Method+" "+string(c.Params))
			c.Respond(map[string]string{"path": "/r.txt"}, nil)
		}, jsonrpc.Options{}, zap.NewNop())
		go server.Run(t.Context())
		began := time.Now()
		path, err := Report(t.Context(), in, out, "s", "/w", true, nil)
		require.NoError(t, err)
		require.Equal(t, "/r.txt", path)
		require.Zero(t, time.Since(began))
		require.Len(t, calls, 3)
		require.Equal(t, `session/resume {"cwd":"/w","mcpServers":[],"sessionId":"s"}`, calls[1])
		require.Equal(t, `_droid/report {"sessionId":"s","texts":true}`, calls[2])
		_ = out.Close()
		_ = in.Close()
		server.Abort()
	})
}
