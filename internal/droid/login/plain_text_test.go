package login_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/login"
)

func TestWords(t *testing.T) {
	for params, want := range map[string]string{
		`{"userCode":"AB-CD","verificationUri":"https://x"}`:                                                                 "userCode: AB-CD\nverificationUri: https://x",
		`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Your code: 1"}}}`: "Your code: 1",
		`{"a":["x","y",{"b":3,"c":null,"d":true}],"message":" "}`:                                                            "a: x\na: y\nb: 3\nd: true",
		`"hello"`:        "hello",
		`{}`:             "",
		``:               "",
		`{"text":"a","b`: "", // the connection lets no such line pass
		`[}`:             "",
	} {
		require.Equal(t, want, login.PlainText(json.RawMessage(params)), params)
	}
	long := login.PlainText(json.RawMessage(`"` + strings.Repeat("ä", 5000) + `"`))
	require.Less(t, len(long), 5000)
	require.True(t, strings.HasSuffix(long, "ä…"))
}

// Every end of a login except a cancel has a remedy.
func TestRemedy(t *testing.T) {
	for _, err := range []error{login.ErrTime, login.ErrStartTime, login.ErrDeclined, &login.Error{}, &login.DiedError{}, &login.NoMethodError{}, errors.New("x")} {
		require.NotEmpty(t, login.Remedy(login.Pairing, err), err)
	}
	require.Contains(t, login.Remedy(login.APIKey, &login.Error{}), "FACTORY_API_KEY")
	require.Empty(t, login.Remedy(login.Pairing, context.Canceled))
}
