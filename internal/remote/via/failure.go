package via

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/sys/subprocess"
	"droid-acp/internal/text/paths"
)

// FailureKind is a stable identifier of why the far side cannot be reached. An ACP error with the code −32603 has it in its data.
type FailureKind string

// Kinds of failures.
const (
	NoCommand    FailureKind = "far_no_command"    // the command's program is not on this machine
	Unreachable  FailureKind = "far_unreachable"   // no such host, container, pod or distribution, or it does not answer
	Refused      FailureKind = "far_refused"       // it is there, and denies the user access or this operation
	NoAgent      FailureKind = "far_no_agent"      // there is no such program
	WrongProgram FailureKind = "far_wrong_program" // the program there is for another system
	OtherVersion FailureKind = "far_version"       // its version does not fit
	NotCopied    FailureKind = "far_not_copied"    // --copy did not succeed
	Ended        FailureKind = "far_ended"         // it has ended for another reason
)

// Failure says why the far side cannot be reached, and what to do.
type Failure struct {
	Kind FailureKind
	Text string // cause and remedy, in whole sentences
	Code int    // the command's exit code, −1 if unknown
}

func (f *Failure) Error() string { return f.Text }

// rpc returns the failure as an error response.
func (f *Failure) rpc() *jsonrpc.Error { return jsonrpc.InternalError(string(f.Kind), f.Text) }

// shown returns the command as it can be typed.
func shown(command []string) string {
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = paths.ShellQuote(word)
	}
	return "`" + strings.Join(words, " ") + "`"
}

// notStarted explains why the command was not started.
func notStarted(command []string, err error) *Failure {
	if errors.Is(err, subprocess.ErrNotFound) {
		return &Failure{NoCommand, fmt.Sprintf("The program %s is not on this machine, or not in the PATH that the editor starts programs with. "+
			"Install it, or write its whole path behind -- in the editor's configuration.", paths.ShellQuote(command[0])), -1}
	}
	return &Failure{NoCommand, fmt.Sprintf("The command %s was not started: %v. Try it in a terminal.", shown(command), err), -1}
}

// silentFailure returns the failure of a far side from which nothing was received for the given time.
func silentFailure(after time.Duration) *Failure {
	return &Failure{Unreachable, fmt.Sprintf("Nothing has come from the far side for %.0f s, so the connection to it is dead. What runs there goes on. "+
		"Start the agent again and open the session again.", after.Seconds()), -1}
}

// exitCause describes one way in which the far side ends.
type exitCause struct {
	kind   FailureKind
	codes  []int    // exit codes that mean it; nil for any
	says   []string // texts of which one must occur in the output, in lower case
	text   string   // the cause
	remedy string
}

// agentName is replaced in causes by Agent.Name.
const agentName = "{agent}"

// causes are the known causes; the first match counts. The texts of OpenSSH 9, of common shells and of this program were seen; those of
// Docker, kubectl and wsl.exe were not. Output that matches nothing is shown unchanged.
var causes = []exitCause{
	{OtherVersion, nil, []string{agentName + ": unknown flag", agentName + ": unknown command", agentName + ": invalid argument"},
		"At the far side " + agentName + " does not know what the command asks of it, so it is probably of another version",
		"Install there the version that is here, or have it copied with --copy."},
	{Unreachable, nil, []string{"could not resolve hostname", "connection refused", "connection timed out", "operation timed out", "no route to host",
		"network is unreachable", "connection closed by", "connection reset by", "host is down", "kex_exchange_identification", "banner exchange"},
		"The host cannot be reached", "Check its name, the network and that its SSH server runs: the same command must work in a terminal."},
	{Refused, nil, []string{"host key verification failed"},
		"The host's key is not known here, or it has changed", "Connect to it once in a terminal, and look at its key."},
	{Refused, nil, []string{"permission denied (", "too many authentication failures", "no such identity"},
		"The host does not let you in", "Nobody can be asked for a password here: have an SSH key in your agent, or named in ~/.ssh/config. The same command must work in a terminal without a question."},
	{Refused, nil, []string{"permission denied while trying to connect", "dial unix /var/run/docker.sock: connect: permission denied", "(forbidden)", "you must be logged in to the server"},
		"You may not do this there", "Get the right to it; the same command must work in a terminal."},
	{Unreachable, nil, []string{"no such container", "is not running", "no running container", "pods \"", "namespaces \"", "is not valid for pod", "cannot connect to the docker daemon", "failed to connect to the docker",
		"unable to connect to the server", "the connection to the server", "there is no distribution with the supplied name", "dev container not found", "container not found"},
		"There is no such container, pod or distribution that runs", "Start it, and check its name: the same command must work in a terminal."},
	{WrongProgram, nil, []string{"exec format error", "cannot execute binary file", "bad cpu type"},
		"At the far side " + agentName + " is for another system or processor", "Install there the one for its system."},
	{NoAgent, nil, []string{"command not found", "executable file not found", "no such file or directory", ": not found", "unknown command: ", "is not recognized as"},
		"There is no such program at the far side, or not in the PATH that the command has there", "Install " + agentName + " there, write its whole path, or have it copied with --copy."},
	{NoAgent, []int{127}, nil,
		"There is no such program at the far side, or not in the PATH that the command has there", "Install " + agentName + " there, write its whole path, or have it copied with --copy."},
	{Refused, []int{126}, nil,
		"The program at the far side may not be run", "Give it the right with `chmod +x`, and see that its file system allows programs."},
	{Refused, nil, []string{"permission denied"},
		"Something at the far side may not be done", "Look at the rights of the program and of its directory there."},
}

func (c *exitCause) fits(agent relay.Agent, exit subprocess.Exit, said string) bool {
	return slices.Contains(c.codes, exit.Code) || slices.ContainsFunc(c.says, func(words string) bool {
		return strings.Contains(said, strings.ReplaceAll(words, agentName, agent.DisplayName()))
	})
}

// findCause returns the cause of an exit, nil if it is unknown. said is the output in lower case.
func findCause(agent relay.Agent, exit subprocess.Exit, said string) *exitCause {
	for i := range causes {
		if causes[i].fits(agent, exit, said) {
			return &causes[i]
		}
	}
	return nil
}

// failure describes how the command ended, for this cause.
func (c *exitCause) failure(agent relay.Agent, command []string, exit subprocess.Exit) *Failure {
	text := strings.ReplaceAll(c.text+". "+c.remedy, agentName, agent.DisplayName()) + fmt.Sprintf(" %s ended (%s).", shown(command), exit.Text)
	if words := lastLines(exit.Stderr); words != "" {
		text += " It said:\n" + words
	}
	return &Failure{c.kind, text, exit.Code}
}

// explain returns why the command has ended. A command that has answered requests has found its agent, so the agent's own output is not
// searched for causes.
func (r *Relay) explain(exit subprocess.Exit) *Failure {
	noise, _ := r.noise.Lines()
	exit.Stderr = append(noise, exit.Stderr...)
	c := findCause(r.Agent, exit, strings.ToLower(lastLines(exit.Stderr)))
	if c == nil || r.near.AnyAnswered() && c.kind != Unreachable {
		c = &exitCause{Ended, nil, nil, "The far side has ended", "Try the command in a terminal, or start the agent again."}
	}
	return c.failure(r.Agent, r.Command, exit)
}

// maxSaid is how many of the last output lines an error has.
const maxSaid = 6

// agentInfo is an agent's answer to initialize, in part.
type agentInfo struct {
	ProtocolVersion int
	Info            struct{ Name, Version string } `json:"agentInfo"`
}

// readAgent decodes the JSON value that a text begins with.
func readAgent(text []byte) (a agentInfo) {
	_ = json.NewDecoder(strings.NewReader(string(text))).Decode(&a) // fields of another type stay empty
	return a
}

// otherProtocol refuses an agent whose protocol version has unknown path fields.
func otherProtocol(version int) *Failure {
	return &Failure{OtherVersion, fmt.Sprintf("The agent at the far side speaks version %d of ACP, and droid-acp via knows where paths stand in version 1 alone, so it passes nothing on. "+
		"Update droid-acp here, or have the same version at both sides.", version), -1}
}

// tooLong returns the failure after a message that is too long.
func tooLong(who string) *Failure {
	return &Failure{Ended, "droid-acp via passes on no message of more than 256 MiB, and a longer one came from " + who + ", so the connection has ended. Start the agent again; a large file is sent as a resource link.", -1}
}

// noMessage returns the error of an invalid line.
func noMessage() *jsonrpc.Error {
	return jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid request", "the line is no JSON-RPC message, or more than one; send each message on a line of its own")
}

// nearError refuses a request of the editor.
func (o *outsidePath) nearError(m Maps) *jsonrpc.Error {
	return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params", fmt.Sprintf("%s is %q, which is outside of every directory that the far side has: %s. "+
		"Open something below one of them, or add --map LOCAL=REMOTE to the command that starts the agent.", o.field, o.path, m.list()))
}

// farError refuses a request of the agent.
func (o *outsidePath) farError(m Maps) *jsonrpc.Error {
	if len(m) == 0 {
		return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params", fmt.Sprintf("%s is %q, which is below no directory of a session that the editor has asked for; "+
			"droid-acp via lets the far side have other files with --map LOCAL=REMOTE, such as --map /src=/src", o.field, o.path))
	}
	return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params", fmt.Sprintf("%s is %q, which is outside of every directory that the editor's machine has (droid-acp via: %s)", o.field, o.path, m.list()))
}

func (m Maps) list() string {
	texts := make([]string, len(m))
	for i := range m {
		texts[i] = m[i].String()
	}
	return strings.Join(texts, ", ")
}
