package wire

import (
	"context"
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"
)

// Handler deals with one request or notification. The next line from the editor is
// read when it has called Ordered, or else when it returns. Handlers of several
// requests run side by side after that; notifications run one after the other.
//
// What it returns is the response: result as JSON, null for nil, unless there is an
// error. Of a notification nobody gets it. A panic becomes an error of the request.
type Handler func(c *Call) (result any, err *acp.RequestError)

// Call is one request or notification of the editor.
type Call struct {
	// Context ends when the editor cancels the request with "$/cancel_request", and
	// when the connection ends. The response is not written then: see Response.
	Context context.Context
	// Method is the JSON-RPC method.
	Method string
	// Params are its params as they came, nil where there are none.
	Params json.RawMessage
	// Response tells when the response is written. It is nil for a notification,
	// which has none; its methods take that.
	Response *Response

	release func()
}

// Ordered says that what this call does is now ordered against what later ones do,
// so that the next line may be read. It may be called more than once.
func (c *Call) Ordered() { c.release() }
