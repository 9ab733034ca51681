package droid

import (
	"encoding/json"
	"fmt"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// lost deals with a line that is too long and was skipped. If the line's beginning
// says that it answers a call, the call fails. If it is a request, droid gets an
// error. Any line but an answer becomes a Lost event.
func (c *Client) lost(size int64, head []byte) {
	c.noMessages.Add(1)
	begin := stream.ReadBeginning(head)
	c.log.Warn("droid wrote a line that is too long; it is lost", zap.Int64("bytes", size), zap.String("type", begin.Kind))
	var id string
	_ = json.Unmarshal(begin.ID, &id) // where there is no id, or it is no string, nobody waits for an answer
	switch {
	case id != "" && begin.Response:
		c.respond(&stream.Response{ID: id, Err: &stream.RPCError{Code: jsonrpc.CodeInternalError,
			Message: fmt.Sprintf("droid's answer of %.1f MB is too long; %.1f MB can be read", float64(size)/1e6, stream.MaxLine/1e6)}})
		return
	case id != "":
		if data, err := encodeError(begin.ID, jsonrpc.CodeInvalidParams, "The request is too long"); err == nil {
			c.out.Put(data) // fails when droid is gone, and then nobody waits
		}
	}
	c.emit(stream.Lost{Type: begin.Kind, Size: size})
}
