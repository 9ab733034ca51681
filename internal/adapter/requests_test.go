package adapter

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestResponseID(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"method":1}}`:    "1",
		`{"jsonrpc":"2.0","id":"a","error":{"code":1}}`:     `"a"`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`: "",
		`{"jsonrpc":"2.0","method":"session/update"}`:       "",
		`{"jsonrpc":"2.0","id":1}`:                          "",
		`[1]`:                                               "",
	} {
		require.Equal(t, want, string(responseID([]byte(line))), line)
	}
}

// TestRequestIsAnsweredByItsOwnResponse: the SDK may write an id in another way
// than the editor did, and a string is no number.
func TestRequestIsAnsweredByItsOwnResponse(t *testing.T) {
	for _, tc := range []struct{ asked, answered string }{
		{`1`, `1`}, {`"1"`, `"1"`}, {`"<a>"`, `"\u003ca\u003e"`}, {`-7.5e3`, `-7.5e3`},
	} {
		r := newRequests()
		other := r.add(json.RawMessage(`"other"`))
		q := r.add(json.RawMessage(tc.asked))
		answered := false
		q.whenAnswered(func() { answered = true })
		other.whenAnswered(func() { t.Error("the other one was answered") })
		r.responded(json.RawMessage(`1234`)) // nobody's
		require.False(t, answered)
		r.responded(json.RawMessage(tc.answered))
		require.True(t, answered, tc.asked)
		late := false
		q.whenAnswered(func() { late = true })
		require.True(t, late, "it was answered before")
	}
}

// TestRequestsWithOneID: nothing keeps an editor from using an id twice.
func TestRequestsWithOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRequests()
		r.add(json.RawMessage(`1`))
		r.add(json.RawMessage(`1`))
		r.responded(json.RawMessage(`1`))
		require.False(t, r.wait(time.Second), "one has no response yet")
		r.responded(json.RawMessage(`1`))
		require.True(t, r.wait(time.Second))
	})
}

func TestNotificationHasNoAnswerToWaitFor(t *testing.T) {
	called := false
	(*request)(nil).whenAnswered(func() { called = true })
	require.True(t, called)
}
