// Tests that keep, serve, transport and via work with any ACP agent.
package relay_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/remote/keep"
	"droid-acp/internal/remote/serve"
	"droid-acp/internal/remote/transport"
	"droid-acp/internal/remote/via"
)

const envGate = "REMOTE_TEST_GATE"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "agent":
		a := &sdkAgent{}
		a.client = acp.NewAgentSideConnection(a, os.Stdout, os.Stdin)
		<-a.client.Done()
		return
	case len(os.Args) == 3 && os.Args[1] == "front":
		if err := front(os.Args[2], os.Stdin, os.Stdout).Run(context.Background()); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// sdkAgent is an agent that knows nothing of this program.
type sdkAgent struct {
	acp.Agent // the methods it lacks
	client    *acp.AgentSideConnection
	cwd       string
}

func (a *sdkAgent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber, AgentInfo: &acp.Implementation{Name: "tiny", Version: "7"}, AgentCapabilities: acp.AgentCapabilities{LoadSession: true}}, nil
}

func (a *sdkAgent) NewSession(_ context.Context, p acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	a.cwd = p.Cwd
	return acp.NewSessionResponse{SessionId: "s1"}, nil
}

func (a *sdkAgent) LoadSession(context.Context, acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	return acp.LoadSessionResponse{}, errors.New("this one forgets its sessions")
}

func (a *sdkAgent) Cancel(context.Context, acp.CancelNotification) error { return nil }

// Prompt writes a file of the editor, or sends a text, waits for the gate, and sends another.
func (a *sdkAgent) Prompt(ctx context.Context, p acp.PromptRequest) (done acp.PromptResponse, err error) {
	say := func(text string) error {
		return a.client.SessionUpdate(ctx, acp.SessionNotification{SessionId: p.SessionId, Update: acp.UpdateAgentMessageText(text)})
	}
	done.StopReason = acp.StopReasonEndTurn
	if p.Prompt[0].Text.Text == "edit" {
		_, err := a.client.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionId: p.SessionId, Path: a.cwd + "/notes.txt", Content: "edited in " + a.cwd})
		return done, err
	}
	if err := say("one"); err != nil {
		return done, err
	}
	gate, err := net.Dial("unix", os.Getenv(envGate))
	if err != nil {
		return done, err
	}
	defer gate.Close()
	_, err = io.Copy(io.Discard, gate)
	return done, errors.Join(err, say("two"))
}

// front returns the bridge of an editor with the agent above.
func front(socket string, in io.Reader, out io.Writer) *keep.StdioBridge {
	dial := func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", socket) }
	return &keep.StdioBridge{
		Attach: serve.AttachParams{Program: os.Args[0], Args: []string{"agent"}, Env: os.Environ(), Directory: os.TempDir()},
		In:     in, Out: out, Stderr: io.Discard, Log: zap.NewNop(),
		Connect: func(ctx context.Context) (keep.MessageConn, error) {
			return transport.Dial(ctx, dial, "ws://localhost"+transport.Path, "")
		},
	}
}

// startServer serves such agents at a socket.
func startServer(t *testing.T) (socket string, hub *serve.Server) {
	t.Helper()
	dir, err := os.MkdirTemp("", "remote") // a socket's path must be short
	require.NoError(t, err)
	hub, err = serve.New(serve.Options{Program: os.Args[0], Args: []string{"agent"}, Journals: filepath.Join(dir, "journals"), AnswerFor: time.Hour, KeepIdle: time.Hour, Stderr: io.Discard, Log: zap.NewNop()})
	require.NoError(t, err)
	socket = filepath.Join(dir, "serve")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	handler := transport.New(transport.Options{Local: true, Join: func(out serve.Outlet, o serve.ClientOptions) transport.Receiver { return hub.Join(out, o) }})
	server := transport.Server(handler, nil, zap.NewNop())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() {
		hub.Close(context.Background())
		handler.Close(context.Background())
		_ = server.Close()
		<-ended
		_ = os.RemoveAll(dir)
	})
	return socket, hub
}

// editor is a client on the SDK.
type editor struct {
	acp.Client // the methods it lacks
	t          *testing.T
	agent      *acp.ClientSideConnection
	said       chan string
	leave      func()
}

func (e *editor) WriteTextFile(_ context.Context, p acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, os.WriteFile(p.Path, []byte(p.Content), 0o600)
}

func (e *editor) SessionUpdate(_ context.Context, p acp.SessionNotification) error {
	if chunk := p.Update.AgentMessageChunk; chunk != nil {
		e.said <- chunk.Content.Text.Text
	}
	return nil
}

// startEditor starts an editor whose lines run passes on.
func startEditor(t *testing.T, run func(in io.Reader, out io.Writer) error) *editor {
	t.Helper()
	in, says := io.Pipe()
	told, out := io.Pipe()
	e := &editor{t: t, said: make(chan string, 100)}
	ended := make(chan error, 1)
	go func() { ended <- run(in, out) }()
	e.leave = func() {
		require.NoError(t, says.Close())
		require.NoError(t, <-ended)
		_ = told.Close()
	}
	e.agent = acp.NewClientSideConnection(e, says, told)
	got, err := e.agent.Initialize(t.Context(), acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, ClientInfo: &acp.Implementation{Name: "an editor", Version: "1"},
		ClientCapabilities: acp.ClientCapabilities{Fs: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}},
	})
	require.NoError(t, err)
	require.Equal(t, "tiny", got.AgentInfo.Name)
	return e
}

func (e *editor) prompt(text string) (acp.PromptResponse, error) {
	return e.agent.Prompt(e.t.Context(), acp.PromptRequest{SessionId: "s1", Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
}

// An edit of another agent is written to the directory that is mapped to the agent's path.
func TestEditOfAnotherAgentThroughVia(t *testing.T) {
	socket, _ := startServer(t)
	work := t.TempDir()
	maps, err := via.ReadMaps([]string{work + "=/far/work"}, "")
	require.NoError(t, err)
	e := startEditor(t, func(in io.Reader, out io.Writer) error {
		return via.New(via.Options{Command: []string{os.Args[0], "front", socket}, Maps: maps, In: in, Out: out, Stderr: io.Discard, Version: "1", Log: zap.NewNop()}).Run(t.Context())
	})
	_, err = e.agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: work, McpServers: []acp.McpServer{}})
	require.NoError(t, err)
	got, err := e.prompt("edit")
	require.NoError(t, err)
	require.Equal(t, acp.StopReasonEndTurn, got.StopReason)
	text, err := os.ReadFile(filepath.Join(work, "notes.txt"))
	require.NoError(t, err)
	require.Equal(t, "edited in /far/work", string(text))
	e.leave()
}

// A turn of another agent continues without its bridge, and a client that loads the session gets all of it.
func TestTurnOfAnotherAgentOutlivesItsFront(t *testing.T) {
	dir, err := os.MkdirTemp("", "remote")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	t.Setenv(envGate, filepath.Join(dir, "gate"))
	gate, err := net.Listen("unix", os.Getenv(envGate))
	require.NoError(t, err)
	defer gate.Close()
	socket, hub := startServer(t)
	through := func(in io.Reader, out io.Writer) error { return front(socket, in, out).Run(t.Context()) }

	first := startEditor(t, through)
	_, err = first.agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	require.NoError(t, err)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = first.prompt("wait") // its answer is not seen
	}()
	waiting, err := gate.Accept()
	require.NoError(t, err)
	first.leave()
	<-asked
	require.Equal(t, serve.Running, hub.Status().Sessions[0].State)

	second := startEditor(t, through)
	_, err = second.agent.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: "s1", Cwd: dir, McpServers: []acp.McpServer{}})
	require.NoError(t, err, "the agent itself could not")
	require.NoError(t, waiting.Close())
	require.Equal(t, []string{"one", "two"}, []string{<-second.said, <-second.said})
	second.leave()
}
