package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"droid-acp/internal/sys/subprocess"
)

// Run is the hook program. args is the agent's address, as in Listener.Command. On any error it prints nothing and returns: droid then
// continues as if there were no hook. It returns within 15 s, and may leave a goroutine that still reads stdin or writes stdout, so the
// process must exit.
func Run(args []string, stdin io.Reader, stdout io.Writer) {
	runTimeout(runLimit, args, stdin, stdout)
}

func runTimeout(limit time.Duration, args []string, stdin io.Reader, stdout io.Writer) {
	if len(args) != 1 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // nothing is printed, and droid continues
		if out, err := hook(ctx, args[0], stdin); err == nil && ctx.Err() == nil {
			_, _ = stdout.Write(out) // droid may have exited
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// hook handles one call of droid and returns what the program prints.
func hook(ctx context.Context, address string, stdin io.Reader) ([]byte, error) {
	r, err := readStdin(stdin)
	if err != nil {
		return nil, err
	}
	if r.Event == "" || r.Tool == "" {
		return nil, errors.New("droid's message to the hook is not what was expected")
	}
	a, err := ask(ctx, address, r)
	if err != nil {
		return nil, err
	}
	return output(r.Event, a)
}

// ask sends the request to the agent and waits for the answer.
func ask(ctx context.Context, address string, r Request) (Answer, error) {
	data, err := encode(r)
	if err != nil {
		return Answer{}, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", address)
	if err != nil {
		return Answer{}, err
	}
	defer conn.Close()
	if _, err = subprocess.CheckPeer(conn.(*net.UnixConn)); err != nil {
		return Answer{}, err
	}
	if end, ok := ctx.Deadline(); ok {
		if err = conn.SetDeadline(end); err != nil {
			return Answer{}, err
		}
	}
	if _, err = conn.Write(data); err != nil {
		return Answer{}, err
	}
	var a Answer
	return a, readMessage(conn, &a)
}

// output returns the answer in droid's format for hooks (0.99 to 0.225). It never contains a permissionDecision: droid asks or does not ask
// as it would without the hook.
func output(event string, a Answer) ([]byte, error) {
	if len(a.UpdatedInput) == 0 && a.Context == "" {
		return nil, errors.New("the agent has nothing to say")
	}
	type specific struct {
		Event        string          `json:"hookEventName"`
		UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
		Context      string          `json:"additionalContext,omitempty"`
	}
	return encode(struct {
		Specific specific `json:"hookSpecificOutput"`
	}{specific{event, a.UpdatedInput, a.Context}})
}
