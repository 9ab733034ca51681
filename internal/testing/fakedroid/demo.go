package fakedroid

import (
	"fmt"
	"path/filepath"
)

// DemoPlan is the plan that Demo asks the user to approve.
const DemoPlan = `# Greet by name

1. Add ` + "`greet.go`" + ` with a function ` + "`Greet(name string) string`" + `.
2. Return a friendly default when the name is empty.
3. Run the tests.
`

const demoSource = `package greet

// Greet returns a greeting for name, or for the world when name is empty.
func Greet(name string) string {
	if name == "" {
		name = "world"
	}
	return "Hello, " + name + "!"
}
`

// Demo plays the conversation of "smoke --demo" in the ways of each version: a droid that plans and writes one small file, without a model and
// without touching the disk. In spec mode a turn has thinking, text, a command
// with permission, a plan to approve and, once approved, the file. In other
// modes it goes straight to the file. It obeys what the user answers: a refusal
// or an interrupt ends the turn as it does with the real droid. Start it with
// WithMode("spec") to show everything in the first turn.
func Demo() Script {
	return EachPrompt(func(d *Droid, p Prompt) error { return d.demoTurn(p.Text) })
}

func (d *Droid) demoTurn(prompt string) error {
	if d.settings.mode() == "spec" {
		if err := d.demoSpec(prompt); err != nil {
			return err
		}
	}
	path := filepath.Join(d.cwd, "greet.go")
	if err := d.Use("The function is small, one file is enough.", "Now I write greet.go. ", Tool{
		Name: "Create", Input: Fields{"file_path": path, "content": demoSource},
		Confirmation: "create", Impact: "low",
		Details: Fields{"filePath": path, "fileName": "greet.go", "content": demoSource},
		Result:  fmt.Sprintf(`{"success":true,"file_path":%q}`, path),
	}); err != nil {
		return err
	}
	return d.Say("", "greet.go now holds Greet. This was a demo: nothing was written to your disk.")
}

func (d *Droid) demoSpec(prompt string) error {
	command := "go test ./..."
	input := Fields{"summary": "Run the tests", "command": command, "timeout": 60, "riskLevel": "medium", "riskLevelReason": "runs the project's code"}
	details := Fields{"fullCommand": command, "command": "go", "extractedCommands": []string{"go"}, "impactLevel": "medium"}
	if d.version.modern() {
		details["riskLevelReason"] = "runs the project's code"
	}
	err := d.Use(fmt.Sprintf("The user says %q. I look at the state of the project before I plan.", prompt),
		"I check that the tests pass before I plan a change. ", Tool{
			Name: "Execute", Input: input, Confirmation: "exec", Impact: "medium", Details: details,
			Progress: []string{"", "ok  \texample.com/greet\t0.004s"},
			Result:   "ok  \texample.com/greet\t0.004s\n\n\n[Process exited with code 0]",
		})
	if err != nil {
		return err
	}
	return d.Use("", "The tests pass. Here is what I would do. ", Tool{
		Name: "ExitSpecMode", Input: Fields{"title": "Greet by name", "plan": DemoPlan},
		Confirmation: "exit_spec_mode", Details: Fields{"plan": DemoPlan, "title": "Greet by name"},
		Result: `{"approved":true,"message":"Spec mode exited. The user approved the plan. Continue with the implementation.","isEdited":false}`,
	})
}
