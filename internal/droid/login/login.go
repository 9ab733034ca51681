package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"droid-acp/internal/jsonrpc"
)

// Methods of droid (0.99.0 and 0.225.2).
const (
	Pairing = "device-pairing"
	APIKey  = "factory-api-key"
)

// Time limits for droid.
const (
	// StartTime is for its answer to initialize, which was observed within 1.5 s.
	StartTime = time.Minute
	// Time is for its answer to authenticate. A person has to act during that time, and droid ends the pairing by itself when its code
	// expires.
	Time = 15 * time.Minute
)

// Reasons for the lack of an answer. A Listener cancels the login with ErrDeclined if the user does not want to open an address.
var (
	ErrStartTime = errors.New("droid did not begin to log in within a minute")
	ErrTime      = errors.New("the login was not finished within 15 minutes")
	ErrDeclined  = errors.New("the address to log in at was declined")
)

// Error says why a request was refused. If droid could not log in, it is the error of droid's response.
type Error = jsonrpc.Error

// NoMethodError means that droid does not have the requested method.
type NoMethodError struct {
	Method string
	Has    []string // IDs of the methods that it has
}

// Error names the method and the available ones.
func (e *NoMethodError) Error() string {
	if len(e.Has) == 0 {
		return fmt.Sprintf("this droid has no way to log in called %q, and no other in its ACP mode", e.Method)
	}
	return fmt.Sprintf("this droid has no way to log in called %q; it has %s", e.Method, strings.Join(e.Has, ", "))
}

// Listener receives droid's messages during a login.
type Listener struct {
	// Capabilities are the clientCapabilities (ACP, initialize) sent to droid, so that it requests nothing else.
	Capabilities json.RawMessage
	// Link is called with an address that droid opened in a browser. It must not block.
	Link func(address string)
	// Tell is called with a notification of droid. It must not block.
	Tell func(method string, params json.RawMessage)
	// Ask is called with a request of droid and returns the answer, or an *Error to refuse it. ctx is cancelled when droid cancels the
	// request or exits.
	Ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}
