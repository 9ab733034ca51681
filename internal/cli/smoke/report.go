package smoke

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// Report has the agent connected to in and out write a report of one of its sessions, and returns the report's path. With texts it has the
// conversation.
func Report(ctx context.Context, in io.Reader, out io.Writer, session, cwd string, texts bool, log *zap.Logger) (path string, err error) {
	ctx, gone := context.WithCancelCause(ctx)
	conn := jsonrpc.New(in, out, func(c *jsonrpc.Call) {
		c.Respond(nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found: " + c.Method})
	}, jsonrpc.Options{MaxLine: maxAttachLine}, cmp.Or(log, zap.NewNop()))
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		conn.Run(ctx)
		gone(errors.New("the server has closed the connection"))
	}()
	defer func() {
		gone(nil) // the server would keep the connection
		conn.Abort()
		<-ran
	}()
	var result json.RawMessage
	for _, call := range []struct {
		method string
		params map[string]any
	}{
		{"initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}, "clientInfo": map[string]any{"name": "droid-acp report", "version": "1"}}},
		{"session/resume", map[string]any{"sessionId": session, "cwd": cwd, "mcpServers": []any{}}},
		{"_droid/report", map[string]any{"sessionId": session, "texts": texts}},
	} {
		if result, err = conn.Request(ctx, call.method, call.params); err != nil {
			return "", err
		}
	}
	var written struct{ Path string }
	if err = json.Unmarshal(result, &written); err == nil && written.Path == "" {
		err = errors.New("the agent's answer names no file")
	}
	return written.Path, err
}
