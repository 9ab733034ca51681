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

// The methods that droid is known to have (0.99.0 and 0.225.2).
const (
	Pairing = "device-pairing"
	APIKey  = "factory-api-key"
)

// How long droid may take.
const (
	// StartTime is for its answer to initialize, which came within 1.5 s.
	StartTime = time.Minute
	// Time is for its answer to authenticate. A person has to act meanwhile, and
	// droid ends the pairing by itself when its code is no longer valid.
	Time = 15 * time.Minute
)

// Why there is no answer of droid's. Who hears of an address ends the login by ErrDeclined
// where the user does not want to go there.
var (
	ErrStartTime = errors.New("droid did not begin to log in within a minute")
	ErrTime      = errors.New("the login was not finished within 15 minutes")
	ErrDeclined  = errors.New("the address to log in at was declined")
)

// Error is why a request was refused. Of droid's own answer that it did not log in it is the
// error of the response.
type Error = jsonrpc.Error

// NoMethodError says that droid does not have the method that was wanted.
type NoMethodError struct {
	Method string
	Has    []string // the ids of those that it has
}

// Error names the method and those that there are.
func (e *NoMethodError) Error() string {
	if len(e.Has) == 0 {
		return fmt.Sprintf("this droid has no way to log in called %q, and no other in its ACP mode", e.Method)
	}
	return fmt.Sprintf("this droid has no way to log in called %q; it has %s", e.Method, strings.Join(e.Has, ", "))
}

// Listener is who waits for a login.
type Listener struct {
	// Capabilities are the clientCapabilities (ACP, initialize) that droid is told, so
	// that it asks for nothing else.
	Capabilities json.RawMessage
	// Link gets an address that droid opened in a browser. It returns at once.
	Link func(address string)
	// Tell gets a notification of droid's. It returns at once.
	Tell func(method string, params json.RawMessage)
	// Ask gets a request of droid's and returns the answer to it, an *Error to refuse it. ctx
	// ends when droid takes the request back or is gone.
	Ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}
