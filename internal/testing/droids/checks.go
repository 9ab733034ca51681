package droids

import (
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/droid/stream"
)

// Verdict is what recordings show about a version.
type Verdict int

// Verdicts.
const (
	Unknown Verdict = iota // no recording shows it
	No
	Yes
)

// String returns the cell of a table.
func (v Verdict) String() string { return [...]string{"?", "–", "✓"}[v] }

func verdict(is bool) Verdict {
	if is {
		return Yes
	}
	return No
}

// Check is a property that a version has or does not have.
type Check struct {
	What string
	// Quirk is the number of a quirk, 0 for a feature.
	Quirk int
	// Fact is the feature in version.go that the check concerns; otherwise nil.
	Fact *stream.Feature
	in   string // the scenario
	sees func(t Talk) Verdict
}

// Of returns what the recordings of a version show.
func (c Check) Of(r *Recorded) Verdict {
	talk, recorded := r.Talks[c.in]
	if !recorded {
		return Unknown
	}
	return c.sees(talk)
}

// Name returns what is checked, in words.
func (c Check) Name() string {
	if c.Quirk != 0 {
		return fmt.Sprintf("quirk %d, %s", c.Quirk, c.What)
	}
	return "it can " + c.What
}

func quirk(number int, what, in string, sees func(t Talk) bool) Check {
	return Check{What: what, Quirk: number, in: in, sees: func(t Talk) Verdict { return verdict(sees(t)) }}
}

func fact(of stream.Feature, in string, sees func(t Talk) bool) Check {
	return Check{What: of.String(), Fact: &of, in: in, sees: func(t Talk) Verdict { return verdict(sees(t)) }}
}

// answers returns a check that a method is answered and not refused.
func answers(method string) func(t Talk) bool {
	return func(t Talk) bool { return t.at(0, "answer to "+method) >= 0 }
}

// Checks returns all of them, in the order of the page's rows.
func Checks() []Check {
	return append(quirkChecks(), factChecks()...)
}

func quirkChecks() []Check {
	idle := "droid_working_state_changed idle"
	return []Check{
		quirk(1, "something of a turn comes behind its end", "plain", func(t Talk) bool {
			return t.at(t.at(t.nth("add_user_message", 2), idle), "session_token_usage_changed") > 0
		}),
		quirk(2, "a message that is sent while the model writes starts a turn of its own", "queued", func(t Talk) bool { return t.at(t.at(0, idle)+1, idle) > 0 }),
		quirk(3, "it says idle when its input ends, and the turn goes on", "eof_midstream", func(t Talk) bool {
			at := t.at(0, idle)
			return at > 0 && t.at(at, "create_message assistant") > at
		}),
		quirk(4, "a turn in which the user refused something is completed", "exec_refused", func(t Talk) bool { return t.at(0, "agent_turn_completed completed") > 0 }),
		quirk(5, "an interrupt right behind the prompt is lost", "interrupt_at_once", func(t Talk) bool { return t.at(0, "create_message assistant") > 0 }),
		quirk(6, "when the model's call breaks off, the second answer comes under the id of the first", "retried", func(t Talk) bool {
			said := ""
			for _, s := range t.of("assistant_text_delta") {
				said += fmt.Sprint(s.Body["textDelta"])
			}
			whole := t.at(0, "create_message assistant")
			if whole < 0 {
				return false
			}
			message, _ := t[whole].Body["message"].(map[string]any)
			return !slices.ContainsFunc(t.of("assistant_text_delta"), func(s Said) bool { return s.Body["messageId"] != message["id"] }) &&
				!strings.Contains(fmt.Sprint(message["content"]), said)
		}),
		quirk(7, "an interrupt makes two results of one tool", "interrupt_tool", func(t Talk) bool { return len(t.of("tool_result")) > 1 }),
		quirk(8, "tool_call comes more than once for a call", "exec_allowed", func(t Talk) bool { return len(t.of("tool_call")) > 1 }),
		quirk(10, "the id of a call that the model uses again is passed on", "same_ids", func(t Talk) bool {
			again := t.nth("add_user_message", 2)
			return slices.ContainsFunc(t[again:], func(s Said) bool {
				use, _ := s.Body["toolUse"].(map[string]any)
				return s.Kind == "tool_call" && use["id"] == "t1"
			})
		}),
		quirk(11, "messages for the model alone stand among the others", "plain", func(t Talk) bool { return t.at(0, "create_message user llm_only") > 0 }),
		quirk(12, "an error does not name its request", "errors", func(t Talk) bool {
			return t.at(t.at(0, "no_such_method"), "refusal of nothing") > 0 && t.at(0, "refusal of no_such_method") < 0
		}),
		quirk(13, "one request is answered and then refused", "errors", func(t Talk) bool {
			at := t.at(0, "answer to add_user_message")
			return at > 0 && t.at(at, "refusal of add_user_message") > at
		}),
		quirk(14, "a setting that it does not know is taken, and ignored", "settings", func(t Talk) bool {
			bogus := t.nth("update_session_settings", 3)
			return !slices.ContainsFunc(t[bogus:t.nth("update_session_settings", 4)], func(s Said) bool { return strings.HasPrefix(s.Kind, "refusal") })
		}),
		quirk(16, "a change that changes nothing is not told", "settings", func(t Talk) bool {
			return !slices.ContainsFunc(t[t.nth("update_session_settings", 3):t.nth("update_session_settings", 4)], func(s Said) bool { return s.Kind == "settings_updated" })
		}),
		quirk(17, "a mode that allows a call answers no request about it", "mode_while_asked", func(t Talk) bool {
			changed := t.at(0, "answer to update_session_settings")
			return changed > 0 && !slices.ContainsFunc(t[changed:t.at(changed, "interrupt_session")], func(s Said) bool { return s.Kind == "tool_result" || s.Kind == "permission_resolved" })
		}),
		quirk(18, "one request is about several tools of different kinds", "two_tools", func(t Talk) bool {
			return strings.Contains(t[max(0, t.at(0, "request request_permission"))].Label, "exec create")
		}),
		quirk(19, "a question is taken back without a word", "ask_interrupted", func(t Talk) bool {
			asked := t.of("request ask_user")
			return len(asked) == 1 && !slices.ContainsFunc(t, func(s Said) bool { return s.Body["requestId"] == asked[0].ID })
		}),
		quirk(20, "a second session of a process gets the old conversation", "initialized_twice", func(t Talk) bool {
			last := t[len(t)-1].Kind
			return strings.HasPrefix(last, "model is asked:") && strings.Contains(last, "assistant")
		}),
		quirk(21, "a history may lack what is older", "loaded", func(t Talk) bool {
			loaded := t.of("answer to load_session")
			return len(loaded) > 0 && loaded[0].Body["hasOlderMessages"] != nil
		}),
		quirk(22, "a plan's options move the conversation to another session", "plan_new_session", func(t Talk) bool {
			sessions := map[string]bool{}
			for _, s := range t {
				if s.Session != "" {
					sessions[s.Session] = true
				}
			}
			return len(sessions) > 1
		}),
		quirk(23, "a plan that is approved once takes the session's autonomy away", "plan_approved", func(t Talk) bool {
			return slices.ContainsFunc(t.of("settings_updated"), func(s Said) bool {
				settings, _ := s.Body["settings"].(map[string]any)
				return settings["autonomyLevel"] == "off"
			})
		}),
		quirk(24, "the MCP servers of a session are ignored", "mcp_of_session", func(t Talk) bool { return !startsServer(t) }),
		quirk(29, "a failed call of the model is told twice", "model_refuses", func(t Talk) bool { return len(t.of("error")) > 0 && t.at(0, "create_message system user_only") > 0 }),
		quirk(30, "the old title comes once more after a rename", "renamed", func(t Talk) bool {
			renamed := t.at(0, "answer to rename_session")
			return renamed > 0 && slices.ContainsFunc(t[renamed:], func(s Said) bool { return s.Kind == "session_title_updated" && s.Body["title"] != "Another title" })
		}),
		quirk(35, "a process that has copied its session goes on in the copy", "forked", goesOnInCopy),
		quirk(37, "a question without options gets Yes and No", "ask_without_options", func(t Talk) bool {
			for _, s := range t.of("request ask_user") {
				if strings.Contains(fmt.Sprint(s.Body["questions"]), "Yes No") {
					return true
				}
			}
			return false
		}),
		quirk(38, "the same message comes again", "plain", func(t Talk) bool {
			seen := map[any]bool{}
			for _, s := range t.of("create_message") {
				message, _ := s.Body["message"].(map[string]any)
				if seen[message["id"]] {
					return true
				}
				seen[message["id"]] = true
			}
			return false
		}),
		quirk(39, "its word for an error stands before words that begin with it", "edit_in_spec", func(t Talk) bool {
			return slices.ContainsFunc(t.of("tool_result"), func(s Said) bool { return strings.HasPrefix(fmt.Sprint(s.Body["content"]), "Error: Error: ") })
		}),
		quirk(41, "an answer in the form of a schema is written anew in its snapshot", "structured", func(t Talk) bool {
			structured := t.at(0, "structured_output")
			return structured > 0 && !strings.Contains(fmt.Sprint(t[t.at(0, "create_message assistant")].Body), `{"n": 4}`)
		}),
	}
}

// Unseen says why no recording shows a quirk, by number, for quirks without a check.
func Unseen() map[int]string {
	const (
		race  = "a race, which comes on a busy machine"
		size  = "lines of several MB are not recorded"
		hooks = "droids are recorded without droid-acp, and so without its hooks"
		login = "newer droids want a login for a subagent, and are recorded offline"
	)
	return map[int]string{
		9:  "which of several calls ends first is a race",
		15: "a recorded droid always gets the same flags",
		25: size,
		26: "what droid leaves in order are files, not lines",
		27: size,
		28: "it takes minutes",
		31: race,
		32: race,
		33: hooks,
		34: race,
		36: "of droid's texts, by which it is known, none is kept",
		40: login,
	}
}

// goesOnInCopy reports whether the copied session lacks the following turn.
func goesOnInCopy(t Talk) bool {
	loaded := t.of("answer to load_session")
	return len(loaded) > 0 && !strings.Contains(fmt.Sprint(loaded[0].Body["session"]), "Once more. ")
}

// startsServer reports whether droid has the tools of the session's MCP server.
func startsServer(t Talk) bool {
	return slices.ContainsFunc(t.of("answer to list_mcp_tools"), func(s Said) bool { return strings.Contains(fmt.Sprint(s.Body), "tiny") })
}

func factChecks() []Check {
	return []Check{
		fact(stream.TakesAutonomyMode, "settings", func(t Talk) bool {
			return slices.ContainsFunc(t.of("settings_updated"), func(s Said) bool { return strings.Contains(fmt.Sprint(s.Body), "auto-high") })
		}),
		fact(stream.StreamsMessages, "plain", func(t Talk) bool {
			deltas := t.of("assistant_text_delta")
			return len(deltas) == 2 && deltas[0].Body["textDelta"] == "Hello to you. "
		}),
		fact(stream.RenamesSessions, "methods", answers("rename_session")),
		fact(stream.CompactsWithoutLogin, "compacted", answers("compact_session")),
		fact(stream.TellsContextUse, "methods", answers("get_context_stats")),
		fact(stream.ExpandsCommands, "methods", answers("list_commands")),
		fact(stream.NamesRequestOfErrors, "errors", func(t Talk) bool { return t.at(0, "refusal of no_such_method") > 0 }),
		fact(stream.TellsTurnEnd, "plain", func(t Talk) bool { return t.at(0, "agent_turn_completed") > 0 }),
		fact(stream.TakesSchema, "structured", func(t Talk) bool { return len(t.of("structured_output")) > 0 }),
		fact(stream.WithdrawsMessages, "dequeued", answers("resolve_queued_user_message")),
		fact(stream.StartsServersOfSession, "mcp_of_session", startsServer),
		fact(stream.StaysAfterFork, "forked", func(t Talk) bool { return len(t.of("answer to load_session")) > 0 && !goesOnInCopy(t) }),
		fact(stream.ClosesSessions, "closed", answers("close_session")),
		fact(stream.SwitchesAutoCompaction, "settings", func(t Talk) bool {
			return slices.ContainsFunc(t.of("settings_updated"), func(s Said) bool {
				settings, _ := s.Body["settings"].(map[string]any)
				return settings["compactionThresholdCheckEnabled"] == false
			})
		}),
		fact(stream.CountsLinesFromOne, "files", func(t Talk) bool {
			results := t.of("tool_result")
			return len(results) > 0 && strings.Contains(fmt.Sprint(results[len(results)-1].Body["content"]), "first-line")
		}),
	}
}
