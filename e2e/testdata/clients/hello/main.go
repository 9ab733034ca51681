// Command hello is an ACP client on the Go SDK that one may start from: docs/programs.md.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"

	"github.com/coder/acp-go-sdk"
)

// client embeds the interface: it offers no files and no terminals, so nobody calls their methods.
type client struct{ acp.Client }

func (client) RequestPermission(_ context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	fmt.Printf("\n[refused: %s]\n", *p.ToolCall.Title)
	i := slices.IndexFunc(p.Options, func(o acp.PermissionOption) bool { return o.Kind == acp.PermissionOptionKindRejectOnce })
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(p.Options[i].OptionId)}, nil
}

func (client) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	if chunk := n.Update.AgentMessageChunk; chunk != nil {
		fmt.Print(chunk.Content.Text.Text)
	}
	return nil
}

func main() {
	ctx, cmd := context.Background(), exec.Command("droid-acp")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	cmd.Stderr = os.Stderr
	check(cmd.Start())
	agent := acp.NewClientSideConnection(client{}, in, out)
	_, err := agent.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber})
	check(err)
	cwd, err := os.Getwd()
	check(err)
	session, err := agent.NewSession(ctx, acp.NewSessionRequest{Cwd: cwd, McpServers: []acp.McpServer{}})
	check(err)
	end, err := agent.Prompt(ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock(os.Args[1])}})
	check(err)
	fmt.Printf("\n[%s]\n", end.StopReason)
	_ = in.Close()
	_ = cmd.Wait()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
