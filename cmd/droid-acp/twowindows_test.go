package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"droid-acp/internal/testing/fakedroid"
)

// envWindows makes this test program, run as droid, windowsDroid.
const envWindows = "SCRIPTED_WINDOWS"

// inTurn does steps until one fails.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// windowsDroid is the droid of the tests of two windows: the prompt's first word says what it does.
func windowsDroid(d *fakedroid.Droid) error {
	for {
		p, err := d.AwaitPrompt()
		if err != nil {
			return err
		}
		word, rest, _ := strings.Cut(p.Text, " ")
		switch word {
		case "delegate":
			s := d.NewSubagent("look", droidStore())
			err = d.Turn(p, func() error {
				return inTurn(func() error { return d.Task("On it. ", func() error { return asksAndWorks(d, s) }, s) }, func() error { return d.Say("", "All found.") })
			})
		case "leave":
			s := d.NewSubagent("look", droidStore())
			err = inTurn(
				func() error { return d.Turn(p, func() error { return d.Task("On it. ", nil, s) }) },
				func() error { return asksAndWorks(d, s) },
				func() error {
					return d.Report(s, "completed", "found it", func() error { return d.Say("", "All reported.") })
				},
			)
		case "perish": // while its subagents ask
			s := d.NewSubagent("look", droidStore())
			err = d.Turn(p, func() error {
				return inTurn(func() error { return d.Task("On it. ", nil, s) }, func() error { _, err := asks(d, s); return err },
					func() error { return d.Pause(time.Second) }, func() error { return d.Die(9, "") })
			})
		case "count":
			err = d.Turn(p, func() error {
				if err := d.Say("", "counted "+rest); err != nil || p.Schema == "" {
					return err
				}
				n, _ := strconv.Atoi(rest)
				return d.Structured(fakedroid.Fields{"n": n})
			})
		default:
			err = d.Turn(p, func() error { return d.Say("", "You said "+p.Text) })
		}
		if err != nil {
			return err
		}
	}
}

func droidStore() string { return filepath.Join(os.Getenv("HOME"), ".factory", "sessions") }

func touches() fakedroid.Tool {
	return fakedroid.Tool{ID: "t1", Name: "Execute", Input: fakedroid.Fields{"command": "touch a"}, Confirmation: "exec", Impact: "medium",
		Details: fakedroid.Fields{"fullCommand": "touch a", "impactLevel": "medium"}, Result: "touched"}
}

// asks has a subagent ask for a command.
func asks(d *fakedroid.Droid, s *fakedroid.Subagent) (id string, err error) {
	if err := s.Write(s.Calls("Let me do that. ", touches())); err != nil {
		return "", err
	}
	return d.Asks(s, touches())
}

// asksAndWorks has a subagent ask for a command, and do what the user says.
func asksAndWorks(d *fakedroid.Droid, s *fakedroid.Subagent) error {
	tool := touches()
	id, err := asks(d, s)
	if err != nil {
		return err
	}
	option, err := d.Answered(id, tool)
	if err != nil {
		return err
	}
	if option == "cancel" {
		tool.Result, tool.IsError = "Tool execution cancelled by user", true
	}
	return s.Write(s.Result(tool), s.Answer("found it"), s.Outcome("completed"))
}

// windowsOptions have it know one MCP server, which can be switched.
func windowsOptions() []fakedroid.Option {
	status := "connected"
	return []fakedroid.Option{
		fakedroid.WithSessions(&fakedroid.Sessions{TakesAny: true}),
		fakedroid.WithAnswer("droid.list_mcp_servers", func(map[string]any) (any, string) {
			return fakedroid.Fields{"servers": []any{fakedroid.Fields{"name": "mine", "status": status, "source": "user", "serverType": "stdio"}}}, ""
		}),
		fakedroid.WithAnswer("droid.list_mcp_tools", func(map[string]any) (any, string) { return fakedroid.Fields{"tools": []any{}}, "" }),
		fakedroid.WithAnswer("droid.toggle_mcp_server", func(params map[string]any) (any, string) {
			status = map[string]string{"true": "connected", "false": "disabled"}[fmt.Sprint(params["enabled"])]
			return fakedroid.Fields{"success": true}, ""
		}),
	}
}
