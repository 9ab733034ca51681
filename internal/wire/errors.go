package wire

import (
	"fmt"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/visible"
)

// Codes of JSON-RPC 2.0, section 5.1.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeInternalError  = -32603
)

// kindInternal begins the message of an error that is a mistake in this program.
const kindInternal = "internal_error"

// NewError makes an error response. Its message is title and, after a colon, text
// in one line, as JSON-RPC wants a short sentence there; its data has the text as
// it stands.
func NewError(code int, title, text string) *acp.RequestError {
	line := visible.Line(strings.Join(strings.Fields(text), " "))
	return &acp.RequestError{Code: code, Message: title + ": " + line, Data: Details(text)}
}

// Details are the data of an error. Zed shows them as they stand, provided that
// they have this one key.
func Details(text string) map[string]string {
	return map[string]string{"details": visible.Text(text)}
}

// PanicError tells the editor of a panic in this program.
func PanicError(p any) *acp.RequestError { return panicError("", p) }

// panicError is PanicError with what was being done, as in " while handling m".
func panicError(doing string, p any) *acp.RequestError {
	return NewError(codeInternalError, kindInternal,
		fmt.Sprintf("droid-acp failed%s: %v. The details are in its log; please report this.", doing, p))
}

// malformed refuses a line that is no message of ACP.
func malformed(text string) *acp.RequestError {
	return &acp.RequestError{Code: codeInvalidRequest, Message: "Invalid request", Data: Details(text)}
}

// notJSON refuses a line that is no JSON.
func notJSON() *acp.RequestError {
	return &acp.RequestError{Code: codeParseError, Message: "Parse error",
		Data: Details("the line is not valid JSON; each message is one line of JSON")}
}
