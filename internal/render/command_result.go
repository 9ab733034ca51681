package render

import (
	"encoding/json"
	"strconv"
	"strings"
)

// CommandResult is the outcome of an Execute.
type CommandResult struct {
	Output   string
	Note     string // droid's remark
	Exit     *int   // nil if the command did not exit by itself
	TimedOut bool   // droid does not mark this as an error (0.99 to 0.225)
}

// ParseCommandResult parses the result of an Execute.
func ParseCommandResult(content json.RawMessage) CommandResult {
	return parseCommandResult(ResultText(content))
}

// Texts of droid in the result of an Execute (0.99 to 0.225).
const (
	exitedBegin   = "[Process exited with code "
	failedBegin   = "Error: Command failed (exit code: "
	timedOutBegin = "Command timed out after "
	noOutput      = "Command completed successfully" // without a newline
	partialBegin  = "Partial output before timeout:\n"
	savedBegin    = "\nFull command output saved to: "
)

// parseCommandResult parses the text of the result.
func parseCommandResult(text string) CommandResult {
	var r CommandResult
	text, r.Exit = cutExitCode(text)
	switch {
	case r.Exit != nil:
		if strings.HasPrefix(text, failedBegin) {
			_, text, _ = strings.Cut(text, "\n")
		}
	case strings.HasPrefix(text, timedOutBegin):
		r.TimedOut = true
		r.Note, r.Output, _ = strings.Cut(text, partialBegin)
		r.Note = strings.TrimSpace(r.Note)
		return r
	case strings.HasPrefix(text, "Error: "):
		r.Note = text
		return r
	}
	if text == noOutput {
		r.Note = text
		return r
	}
	if i := strings.LastIndex(text, savedBegin); i >= 0 && !strings.Contains(text[i+1:], "\n") {
		r.Note = text[i+1:]
		text = strings.TrimRight(text[:i], "\n") + "\n"
	}
	r.Output = text
	return r
}

// cutExitCode removes the last line if it contains an exit code.
func cutExitCode(text string) (string, *int) {
	i := strings.LastIndex(text, exitedBegin)
	if i < 0 || (i > 0 && text[i-1] != '\n') {
		return text, nil
	}
	code, after, found := strings.Cut(text[i+len(exitedBegin):], "]")
	n, err := strconv.Atoi(code)
	if !found || err != nil || strings.TrimSpace(after) != "" {
		return text, nil
	}
	return strings.TrimSuffix(text[:i], "\n\n"), &n
}
