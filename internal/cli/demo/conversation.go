package demo

import (
	"path/filepath"
	"strconv"
)

// message is one of the model's, with the tool that it calls.
type message struct {
	planning       bool // it is said in spec mode alone
	thinking, text string
	tool           *tool
}

// tool is a call that is told and never run.
type tool struct {
	name    string
	input   fields
	asks    fields   // what a permission request tells of it, beside the call
	needs   int      // the level of autonomy that makes the request needless
	options []fields // of the request, the refusal last
	output  []string // what it has printed, as it grows: first an empty line
	result  string
	refused string // its result when the user said no
}

const plan = `# Greet by name

1. Add ` + "`greet.go`" + ` with a function ` + "`Greet(name string) string`" + `.
2. Return a friendly default when the name is empty.
3. Run the tests.
`

const source = `package greet

// Greet returns a greeting for name, or for the world when name is empty.
func Greet(name string) string {
	if name == "" {
		name = "world"
	}
	return "Hello, " + name + "!"
}
`

// conversation answers any prompt, in the directory of the session: in spec mode with a
// command and a plan first, and then with one small file.
func conversation(prompt, dir string) []message {
	const command, reason, refused = "go test ./...", "runs the project's code", "Error: Tool execution cancelled by user"
	path := filepath.Join(dir, "greet.go")
	return []message{{
		planning: true,
		thinking: "The user says " + strconv.Quote(prompt) + ". I look at the state of the project before I plan.",
		text:     "I check that the tests pass before I plan a change. ",
		tool: &tool{
			name:    "Execute",
			input:   fields{"summary": "Run the tests", "command": command, "timeout": 60, "riskLevel": "medium", "riskLevelReason": reason},
			asks:    fields{"type": "exec", "fullCommand": command, "command": "go", "extractedCommands": []string{"go"}, "impactLevel": "medium", "riskLevelReason": reason},
			needs:   medium,
			options: choices("Yes, and always allow medium impact commands (all commands that are reversible)"),
			output:  []string{"\n", "\nok  \texample.com/greet\t0.004s\n"},
			result:  "ok  \texample.com/greet\t0.004s\n\n\n[Process exited with code 0]",
			refused: refused,
		},
	}, {
		planning: true,
		text:     "The tests pass. Here is what I would do. ",
		tool: &tool{
			name:  "ExitSpecMode",
			input: fields{"title": "Greet by name", "plan": plan},
			asks:  fields{"type": "exit_spec_mode", "plan": plan, "title": "Greet by name"},
			needs: always,
			options: []fields{
				{"label": "Proceed with implementation", "value": "proceed_once"},
				{"label": "Proceed, and allow file edits and read-only commands (Low)", "value": "proceed_auto_run_low"},
				{"label": "No, keep iterating on spec", "value": "cancel"},
			},
			result:  `{"approved":true,"message":"Spec mode exited. The user approved the plan. Continue with the implementation.","isEdited":false}`,
			refused: "Error: Plan not approved - remaining in Spec Mode. Provide feedback to refine the spec.",
		},
	}, {
		thinking: "The function is small, one file is enough.",
		text:     "Now I write greet.go. ",
		tool: &tool{
			name:    "Create",
			input:   fields{"file_path": path, "content": source},
			asks:    fields{"type": "create", "filePath": path, "fileName": "greet.go", "content": source},
			needs:   low,
			options: choices("Yes, and always allow low impact commands (file edits and read-only commands)"),
			result:  `{"success":true,"file_path":` + strconv.Quote(path) + `}`,
			refused: refused,
		},
	}, {
		text: "greet.go now holds Greet. This was a demo: nothing was written to your disk.",
	}}
}

func choices(always string) []fields {
	return []fields{{"label": "Yes, allow", "value": "proceed_once"}, {"label": always, "value": "proceed_always"}, {"label": "No, cancel", "value": "cancel"}}
}
