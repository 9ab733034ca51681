package wire

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
		`{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`: "",
		`{"jsonrpc":"2.0","id":1}`:                          "",
		`["id",5,"result"]`:                                 "",
		`[1]`:                                               "",
		`{"jsonrpc":"2.0","id":`:                            "",
		`{"jsonrpc":"2.0","id"`:                             "",
		`{"id":1,]`:                                         "",
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
		r := newPending()
		other := r.add(json.RawMessage(`"other"`))
		q := r.add(json.RawMessage(tc.asked))
		require.Equal(t, tc.asked, string(q.ID()))
		answered := false
		q.WhenWritten(func() { answered = true })
		other.WhenWritten(func() { t.Error("the other one was answered") })
		r.written(json.RawMessage(`1234`)) // nobody's
		require.False(t, answered)
		r.written(json.RawMessage(tc.answered))
		require.True(t, answered, tc.asked)
		late := false
		q.WhenWritten(func() { late = true })
		require.True(t, late, "it was answered before")
	}
}

// A notification has no id.
func TestNotificationHasNoID(t *testing.T) {
	var none *Response
	require.Nil(t, none.ID())
}

// TestStringIsNoNumber: they are different ids.
func TestStringIsNoNumber(t *testing.T) {
	p, answered := newPending(), ""
	p.add(json.RawMessage(`1`)).WhenWritten(func() { answered += "number" })
	p.add(json.RawMessage(`"1"`)).WhenWritten(func() { answered += "string" })
	p.written(json.RawMessage(`"1"`))
	require.Equal(t, "string", answered)
}

// TestLastResponseIsNotMissed: who has counted the open requests and only then begins to
// wait gets the token of the last one.
func TestLastResponseIsNotMissed(t *testing.T) {
	p := newPending()
	p.add(json.RawMessage(`1`))
	p.written(json.RawMessage(`1`))
	require.Len(t, p.none, 1)
}

// TestRequestsAreWaitedFor: until the last response, or the limit. Two may have one
// id, since nothing keeps an editor from using it twice.
func TestRequestsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, id := newPending(), json.RawMessage(`1`)
		begin := time.Now()
		require.True(t, r.wait(time.Second), "nothing to wait for")
		require.Zero(t, time.Since(begin))

		r.add(id)
		r.add(id)
		require.False(t, r.wait(time.Second))
		require.Equal(t, time.Second, time.Since(begin))

		all := make(chan bool, 1)
		go func() { all <- r.wait(time.Minute) }()
		r.written(id)
		synctest.Wait()
		require.Empty(t, all, "one is missing")
		r.written(id)
		synctest.Wait()
		require.Len(t, all, 1)
		require.True(t, <-all)

		r.add(id) // a token left from before is no answer to what came since
		require.False(t, r.wait(time.Second))
	})
}

func TestNotificationHasNoAnswerToWaitFor(t *testing.T) {
	called := false
	(*Response)(nil).WhenWritten(func() { called = true })
	require.True(t, called)
}
