package via

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The far side's output at its end is explained in the answer to the pending request.
func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		code, says, kind, text string
	}{
		{"255", "ssh: Could not resolve hostname nowhere: Name or service not known", "far_unreachable", "The host cannot be reached. Check its name"},
		{"255", "ssh: connect to host box port 22: Connection refused", "far_unreachable", "The host cannot be reached."},
		{"255", "me@box: Permission denied (publickey,password).", "far_refused", "The host does not let you in. Nobody can be asked for a password here"},
		{"255", "No ED25519 host key is known for box and you have requested strict checking.\nHost key verification failed.", "far_refused", "The host's key is not known here"},
		{"127", "bash: line 1: droid-acp: command not found", "far_no_agent", "Install droid-acp there, write its whole path, or have it copied with --copy."},
		{"127", "zsh:1: no such thing", "far_no_agent", "There is no such program at the far side"},
		{"126", "bash: line 1: /opt/droid-acp: Permission denied", "far_refused", "The program at the far side may not be run. Give it the right with `chmod +x`"},
		{"126", "bash: line 1: /opt/droid-acp: cannot execute binary file: Exec format error", "far_wrong_program", "is for another system or processor"},
		{"127", `OCI runtime exec failed: exec failed: unable to start container process: exec: "droid-acp": executable file not found in $PATH: unknown`, "far_no_agent", "There is no such program"},
		{"1", "Error response from daemon: No such container: c", "far_unreachable", "There is no such container, pod or distribution that runs. Start it"},
		{"1", "Error response from daemon: container 5f is not running", "far_unreachable", "Start it"},
		{"1", "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock", "far_refused", "You may not do this there."},
		{"1", `Error from server (NotFound): pods "p" not found`, "far_unreachable", "There is no such container"},
		{"1", `Error from server (NotFound): namespaces "n" not found`, "far_unreachable", "There is no such container"},
		{"1", "Error from server (BadRequest): container c is not valid for pod p", "far_unreachable", "There is no such container"},
		{"125", `Error: no container with name or ID "c" found: no such container`, "far_unreachable", "There is no such container"},
		{"126", `Error: runc: exec failed: unable to start container process: exec: "/etc/passwd": permission denied: OCI permission denied`, "far_refused", "The program at the far side may not be run."},
		{"2", "droid-acp: unknown flag: --keep\nRun `droid-acp --help` for the usage.", "far_version", "of another version. Install there the version that is here"},
		{"1", "something else", "far_ended", "The far side has ended. Try the command in a terminal, or start the agent again."},
		{"0", "", "far_ended", "ended (exit status 0)."},
	} {
		r := newRig(t, "/l=/r", os.Args[0], "ends", tc.code, tc.says)
		r.run(t.Context())
		told := r.refusedNear(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1}}`)
		require.Contains(t, told, `"id":"i","error":{"code":-32603,"message":"`, tc.says)
		require.Contains(t, told, `"kind":"`+tc.kind+`"`, tc.says)
		err := <-r.ended
		var f *Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, FailureKind(tc.kind), f.Kind)
		require.Contains(t, f.Text, tc.text)
		require.Contains(t, f.Text, "ended (exit status "+tc.code+").")
		require.Contains(t, f.Text, tc.says, "its own words")
	}
}

func TestCommandThatIsNotHere(t *testing.T) {
	for _, program := range []string{"no-such-program", "/no/such/program"} {
		r := newRig(t, "/l=/r", program, "host")
		r.run(t.Context())
		told := r.refusedNear(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
		require.Contains(t, told, `"code":-32603,"message":"The `)
		require.Contains(t, told, `"kind":"far_no_command"`)
		require.ErrorContains(t, <-r.ended, program)
	}
}

// The check in docs/elsewhere.md, which ends its input at once, still reports what is wrong. After an answer, the end of the far side with
// the editor is not reported.
func TestNothingThereAndTheInputEnds(t *testing.T) {
	for range 20 {
		r := newRig(t, "", os.Args[0], "ends", "127", "env: 'no-such': No such file or directory")
		r.run(t.Context())
		r.near.Say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
		require.NoError(t, r.editor.Close())
		require.Contains(t, r.near.Line(), `"kind":"far_no_agent"`)
		require.ErrorContains(t, <-r.ended, "There is no such program at the far side")
	}
	r := newRig(t, "", os.Args[0], "ends", "127", "env: 'no-such': No such file or directory")
	require.NoError(t, r.editor.Close())
	require.ErrorContains(t, r.relay.Run(t.Context()), "There is no such program at the far side", "nothing was asked")
}

// A far side that breaks off fails all pending requests, and is not reported as a missing program, even if its agent said so about
// something else.
func TestBrokenPipe(t *testing.T) {
	r := connected(t, "/l=/r")
	r.toFar(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	r.toNear(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`)
	r.toNear("no such file or directory\n" + `{"method":"x"}`)
	r.toFar(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{}}`)
	r.toFar(`{"jsonrpc":"2.0","id":3,"method":"session/list","params":{}}`)
	require.NoError(t, r.far.Close())
	told := []string{r.near.Line(), r.near.Line()}
	ids := regexp.MustCompile(`"id":([23]),"error":\{"code":-32603,"message":"The far side has ended\..*"kind":"far_ended"`)
	require.Regexp(t, ids, told[0])
	require.Regexp(t, ids, told[1])
	require.NotEqual(t, told[0], told[1])
	require.ErrorContains(t, <-r.ended, "The far side has ended.")
}
