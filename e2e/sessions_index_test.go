//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

// listedRow is a row of session/list.
type listedRow struct {
	SessionID, Title string
	Archived         *bool
	Meta             *struct {
		JetBrains struct {
			Air struct {
				Version                       int
				Archived                      *bool
				State, Model, LastTurnEndedAt string
			}
		}
	} `json:"_meta"`
}

// cell is an answer in short: the code of an error, the rows of a list that are of the session id, or the result.
func cell(id string, result json.RawMessage, err *rpcError) string {
	var list struct{ Sessions *[]listedRow }
	if err != nil {
		return fmt.Sprint(err.Code)
	}
	if json.Unmarshal(result, &list) != nil || list.Sessions == nil {
		return string(result)
	}
	text := "none"
	for _, row := range *list.Sessions {
		if row.SessionID != id {
			continue
		}
		if text = row.Title; *row.Archived {
			text += ", archived"
		}
		if row.Meta == nil {
			continue
		}
		air := row.Meta.JetBrains.Air
		if air.Version != 1 || *air.Archived != *row.Archived {
			text += ", invalid"
		}
		text += fmt.Sprintf(" [%s", air.State)
		if air.Model != "" {
			text += " " + air.Model
		}
		if _, err := time.Parse(time.RFC3339Nano, air.LastTurnEndedAt); err == nil {
			text += " rested"
		}
		text += "]"
	}
	return text
}

// TestHistoryMethods goes through all methods and capabilities of stored sessions, for clients that declare Air's session index and that do
// not, live, after a restart, and in two windows of one server.
func TestHistoryMethods(t *testing.T) {
	notKept(t, "it has windows of its own")
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		if !h.has(t, stream.RenamesSessions) {
			t.Skip(h.protocol(t).UnsupportedText(stream.RenamesSessions))
		}
		model.On("medlar", modelserver.Step{Text: "Hi."})
		kept := h.keeps(t)
		for _, declared := range []bool{false, true} {
			var s session
			var window1 *client
			for _, where := range []string{"live", "restarted", "window 1", "window 2"} {
				if testing.Short() && !declared && where == "restarted" {
					continue // the others have such a client, and this state
				}
				in, isKept := h, strings.HasPrefix(where, "window")
				c := (*client)(nil)
				if isKept {
					in = kept
					c = startKept(t, in)
				} else {
					c = startAgent(t, in)
				}
				c.initializeIndexed(declared, isKept)
				switch where {
				case "live":
					s = c.openSession(in)
					require.Equal(t, "Hi.", s.say("the medlar"))
				case "window 1":
					window1 = c
					c.mustCall("session/load", in.params(s.id), nil)
				}
				s.client = c
				c.historyRows(t, in, s.id, declared, where)
				if where == "window 2" {
					session{window1, s.id}.awaitSaid("has archived this session")
					c.mustCall("session/archive", map[string]any{"sessionId": s.id}, nil)
					c.mustCall("session/delete", map[string]any{"sessionId": s.id}, nil)
					require.Equal(t, codeNotFound, window1.status(s.id))
				}
				if !isKept {
					c.end(h)
				}
			}
		}
	})
}

// initializeIndexed initializes a client, and checks which of the capabilities it is offered.
func (c *client) initializeIndexed(declared, isKept bool) {
	c.t.Helper()
	capabilities, offered := map[string]any{}, []string(nil)
	if declared {
		capabilities["_meta"] = map[string]any{"jetbrains": map[string]any{"air": map[string]any{"version": 1, "capabilities": []string{"sessionIndex"}}}}
		offered = []string{"sessionIndex", "sessionBatchGet", "sessionArchive", "sessionRename"}
		if !isKept {
			offered = append(offered, "sessionListSubscribe")
		}
	}
	var r struct {
		AgentCapabilities struct{ SessionCapabilities map[string]json.RawMessage }
		Meta              struct {
			JetBrains struct {
				Air struct{ Capabilities []string }
			}
		} `json:"_meta"`
	}
	c.mustCall("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": knownEditor}, &r)
	require.Subset(c.t, slices.Collect(maps.Keys(r.AgentCapabilities.SessionCapabilities)), []string{"archive", "delete", "list", "status", "title"})
	require.Equal(c.t, offered, r.Meta.JetBrains.Air.Capabilities)
}

// historyRows calls each method about a session, which stays as it is and is open for c in the end, and compares the answers.
func (c *client) historyRows(t *testing.T, h home, id string, declared bool, where string) {
	one, none, open := map[string]any{"sessionId": id}, map[string]any{"sessionId": "none"}, where != "restarted"
	list := func(more map[string]any) map[string]any {
		p := map[string]any{"cwd": h.work}
		maps.Copy(p, more)
		return p
	}
	asAir := func(options map[string]any) map[string]any {
		return list(map[string]any{"_meta": map[string]any{"jetbrains": map[string]any{"air": map[string]any{"list": options}}}})
	}
	named := func(title string) map[string]any { return map[string]any{"sessionId": id, "title": title} }
	ifDeclared := func(want string) string {
		if declared {
			return want
		}
		return "-32601"
	}
	status := map[bool]string{false: `{"status":"saved"}`, true: `{"status":"open"}`}
	searching := 0 // in window 2 it would have this client use the agent of window 1
	if declared && where != "window 2" {
		searching = c.request("_droid/search", map[string]any{"query": "medlar", "cwd": h.work})
	}
	var rows []string
	check := func(method string, params map[string]any, want string) {
		t.Helper()
		result, err := c.call(method, params)
		got := cell(id, result, err)
		rows = append(rows, fmt.Sprintf("%-26s | %s", method, got))
		if !declared {
			want, _, _ = strings.Cut(want, " [")
		}
		require.Equal(t, want, got, "%s, declared: %v, %s\n%s", where, declared, method, strings.Join(rows, "\n"))
	}
	// what of the index is known of the session while it is open in an agent that this client has
	live := map[string]string{"live": " [idle custom:Scripted-0 rested]", "restarted": " []", "window 1": " [idle custom:Scripted-0]", "window 2": " []"}[where]
	check("session/status", one, status[open])
	check("session/set_title", named("One"), `{"title":"One"}`)
	check("session/list", list(nil), "One"+live)
	check("_session/batch_get", map[string]any{"sessionIds": []string{"none", id}}, ifDeclared("One"+live))
	title := "One"
	check("_session/rename", named("Two"), ifDeclared(`{"title":"Two"}`))
	if declared {
		title = "Two"
	}
	check("session/list", list(map[string]any{"archived": "only"}), "none")
	check("session/list", list(map[string]any{"archived": "all"}), "-32602")
	check("session/list", asAir(map[string]any{"archived": "all", "limit": 100}), title+live)
	wrong := title
	if declared {
		wrong = "-32602"
	}
	check("session/list", asAir(map[string]any{"limit": 0}), wrong)
	subscribed, err := c.call("_session/list/subscribe", list(nil))
	require.Equal(t, declared && !strings.HasPrefix(where, "window"), err == nil, "%s", subscribed)
	for _, methods := range [][2]string{{"session/archive", "session/unarchive"}, {"_session/archive", "_session/unarchive"}} {
		does := methods[0] == "session/archive" || declared
		want := "{}"
		if !does {
			want = "-32601"
		}
		check(methods[0], one, want)
		if does {
			check("session/status", one, status[false])
			check("session/list", list(nil), "none")
			check("session/list", list(map[string]any{"archived": "only"}), title+", archived []")
			check("_session/batch_get", map[string]any{"sessionIds": []string{id}}, ifDeclared(title+", archived []"))
		}
		check(methods[1], one, want)
		check("session/list", list(nil), title+" []")
		check(methods[0], none, strings.Replace(want, "{}", "-32002", 1))
		check(methods[1], none, strings.Replace(want, "{}", "-32002", 1))
	}
	check("session/status", none, "-32002")
	c.mustCall("session/load", h.params(id), nil)
	check("session/status", one, status[true])
	check("session/list", list(nil), title+" [idle custom:Scripted-0]")
	if declared && !strings.HasPrefix(where, "window") {
		c.await("a change of the list", 0, answerLimit, func(l line) bool {
			return l.Method == "_session/list/changes" && strings.Contains(string(l.Params), id)
		})
		rows = append(rows, "_session/list/changes      | its row")
	}
	if searching > 0 {
		_, l := c.response(searching, turnLimit)
		require.Contains(t, string(l.Result), id)
		rows = append(rows, "_droid/search              | finds it")
	}
	t.Logf("droid %s, declared: %v, %s:\n%s", h.version, declared, where, strings.Join(rows, "\n"))
}
