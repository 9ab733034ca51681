package session_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/acptest"
	"droid-acp/internal/testing/fakedroid"
)

// deltas is how many pieces of text the benchmark's turn has.
const deltas = 20_000

// chatty says a message of that many words.
func chatty() fakedroid.Script {
	text := string(bytes.Repeat([]byte("word "), deltas))
	return eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Say("", text) })
}

// BenchmarkTurn measures a turn of 20,000 deltas through the whole agent, from
// droid's pipe to the editor's, against reading the same deltas with
// droid.Client alone. ratio is the one over the other, in one run.
//
// Nearly all garbage is the scripted droid's, which runs in this process. With so small a
// heap the collector would run the more often the less memory the agent keeps.
func BenchmarkTurn(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	var bridge, bare time.Duration
	n := 0
	for b.Loop() {
		bare += bareTurn(b)
		bridge += bridgeTurn(b)
		n++
	}
	b.ReportMetric(float64(bridge.Microseconds())/float64(n)/1000, "bridge-ms")
	b.ReportMetric(float64(bare.Microseconds())/float64(n)/1000, "bare-ms")
	b.ReportMetric(float64(bridge)/float64(bare), "ratio")
	b.ReportMetric(0, "ns/op")
}

func bareTurn(b *testing.B) time.Duration {
	b.Helper()
	client := fakeDroid(chatty())
	ctx := context.Background()
	_, err := client.Initialize(ctx, droid.InitializeParams{CWD: "/workspace"})
	require.NoError(b, err)
	began := time.Now()
	require.NoError(b, client.AddUserMessage(ctx, stream.UserMessage{Text: "go"}))
	for ev := range client.Events() {
		if s, ok := ev.(stream.WorkingStateChanged); ok && s.State == stream.StateIdle {
			break
		}
	}
	took := time.Since(began)
	go func() {
		for range client.Events() {
		}
	}()
	require.NoError(b, client.Close(ctx))
	return took
}

func bridgeTurn(b *testing.B) time.Duration {
	b.Helper()
	in, agentIn := io.Pipe()
	agentOut, out := io.Pipe()
	agent := adapter.New(adapter.Config{
		Config: session.Config{
			Locate: func() (string, error) { return "droid", nil },
			Config: launch.Config{
				Start: func(droid.Command) (*droid.Client, error) { return fakeDroid(chatty()), nil },
				Store: store.New(b.TempDir(), zap.NewNop()),
			},
		},
		Log: zap.NewNop(),
	})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = agent.Serve(context.Background(), in, out)
		_ = out.Close()
	}()
	peer := acptest.NewPeer(b, agentOut, agentIn)
	call := func(id int, method, params string) string {
		peer.Say(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
		for {
			if line := peer.Line(); strings.HasPrefix(line, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, id)) {
				return line
			}
		}
	}
	call(1, "initialize", `{"protocolVersion":1}`)
	answer := call(2, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, os.TempDir()))
	_, after, _ := strings.Cut(answer, `"sessionId":"`)
	id, _, _ := strings.Cut(after, `"`)
	began := time.Now()
	call(3, "session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}`, id))
	took := time.Since(began)
	_ = agentIn.Close()
	go peer.Rest()
	<-served
	return took
}
