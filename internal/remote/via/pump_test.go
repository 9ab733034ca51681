package via

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
)

// The end of an editor is noticed behind messages that the far side does not take; the end of the far side waits for a slow editor.
func TestEndBehindWhatIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := strings.Repeat(`{"jsonrpc":"2.0","method":"m","params":{"text":"`+strings.Repeat("x", 1<<10)+`"}}`+"\n", 5<<9)
		stuck, way := io.Pipe()
		r := New(Options{In: strings.NewReader(said), Out: io.Discard, Log: zap.NewNop()})
		r.far = jsonrpc.NewOutbox(way, relay.Batch)
		go r.far.Run()
		began := time.Now()
		near := newDirection(r.In)
		r.pump(near, r.far, r.fromNear)
		<-near.ended
		require.Equal(t, endPatience, time.Since(began))

		r.far.Abort()
		to := jsonrpc.NewOutbox(way, relay.Batch)
		far := newDirection(strings.NewReader(said))
		r.pump(far, to, func(line []byte) []byte { return line })
		ended := far.ended
		time.Sleep(time.Minute)
		select {
		case <-ended:
			require.Fail(t, "what was said is lost")
		default:
		}
		_ = stuck.Close()
		to.Run()
		<-ended
	})
}
