package acperr

import (
	"encoding/json"
	"errors"
	"strings"

	"droid-acp/internal/jsonrpc"
)

// Decode reads params strictly enough to say what is wrong with them.
func Decode(params json.RawMessage, into any) *jsonrpc.Error {
	if len(params) == 0 || string(params) == "null" {
		return InvalidParams("params are missing")
	}
	if err := json.Unmarshal(params, into); err != nil {
		return InvalidParams("%s", wrongParams(err))
	}
	return nil
}

// Empty reports whether a request came without params: none at all, null, or the
// empty list that clients send whose language has one sign for it and an empty object.
func Empty(params json.RawMessage) bool {
	switch strings.Join(strings.Fields(string(params)), "") {
	case "", "null", "[]":
		return true
	}
	return false
}

// wrongParams says what of a request's params has the wrong form, without the names of
// Go's types.
func wrongParams(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err.Error()
	case wrong.Field == "":
		return "the params are of the JSON type " + wrong.Value + "; they must be an object"
	}
	return wrong.Field + " is of the JSON type " + wrong.Value
}
