package session_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/testing/fixture"
)

var update = flag.Bool("update", false, "rewrite the acp.golden sections of testdata/fixtures")

// The goldens are the messages to Zed, and those lines that an unknown client receives in another form.
const (
	acpGolden       = "acp.golden"
	plainGolden     = "acp.plain.golden"
	subagentsGolden = "acp.subagents.golden" // what Zed would get if it declared subagents, for fixtures with some
)

// deafTurn is the one recording that no ACP conversation leads to.
const deafTurn = "two_turns_at_once_0.99"

// TestFixtures replays recorded droids and compares what the editor sees with
// the fixture's goldens.
func TestFixtures(t *testing.T) {
	all, err := fixture.LoadAll("../../../testdata/fixtures")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			if c.Name == deafTurn {
				t.Skip("the agent kills a droid that stop does not reach, and the recorded client goes on with it; see TestQuirk31_TwoTurnsAtOnce in quirks")
			}
			var got, plain string
			synctest.Test(t, func(t *testing.T) { got = replayed(t, c, `"clientCapabilities":{},`+asZed) })
			synctest.Test(t, func(t *testing.T) { plain = replayed(t, c, `"clientCapabilities":{}`) })
			if strings.Contains(c.Name, "subagent") {
				var shown string
				synctest.Test(t, func(t *testing.T) { shown = replayed(t, c, `"clientCapabilities":{"subagents":{}},`+asZed) })
				if *update {
					require.NoError(t, c.SetGolden(subagentsGolden, shown))
				}
				require.Equal(t, c.Golden(subagentsGolden), shown)
			}
			require.NoError(t, readsWell(got))
			require.NoError(t, readsWell(plain))
			if plain = without(plain, got); *update {
				require.NoError(t, c.SetGolden(acpGolden, got))
				require.NoError(t, c.SetGolden(plainGolden, plain))
				return
			}
			require.NoError(t, c.CompareGolden(acpGolden, got))
			require.NoError(t, c.CompareGolden(plainGolden, plain))
		})
	}
}

// without are the lines of a text that another one has not.
func without(text, other string) string {
	has, left := strings.Split(other, "\n"), ""
	for line := range strings.Lines(text) {
		if !slices.Contains(has, strings.TrimSuffix(line, "\n")) {
			left += line
		}
	}
	return left
}

// replayed makes an editor act like the recorded client and returns the agent's messages, one per line.
func replayed(t *testing.T, c *fixture.Conversation, client string) string {
	script := &recordedClient{t: t, answers: recordedAnswers(c.Steps), plan: editedPlanOf(c.Steps)}
	e := open(t, func(n int) (*droid.Client, error) {
		if n > 1 { // where droid died, a new process finds no session
			return nil, &droid.NotFoundError{}
		}
		return fakeDroid(fakedroid.Replay(acknowledged(c.Steps))), nil
	})
	files, rest := untilAnswered(c, strings.Contains(client, "subagents"))
	e.agent.Config.Store = storeWith(t, files)
	e.agent.Config.Defaults.FollowUp = options.Steer // recorded clients send prompts at once
	if script.plan != "" && strings.Contains(client, asZed) {
		client = `"clientCapabilities":` + formClient + `,"clientInfo":{"name":"agent-shell"}` // whose fields have several lines
	}
	require.Nil(t, e.call("initialize", `{"protocolVersion":1,`+client+`}`).Error)
	e.ask, e.onForm, script.end = script.answer, script.fill, e.done
	if len(rest) > 0 {
		e.ask = func(p permission) string {
			for id, lines := range rest {
				appendTo(t, e.agent.Config.Store, id, lines)
			}
			rest = nil
			return script.answer(p)
		}
	}
	for _, step := range c.Steps {
		if step.Dir != fixture.ToDroid {
			continue
		}
		synctest.Wait()
		time.Sleep(5 * time.Second) // graces and retries are over
		synctest.Wait()
		script.act(e, step)
	}
	time.Sleep(time.Minute + time.Second) // the user is notified of a silent model after a minute
	synctest.Wait()
	e.close()
	lines := readable(inOrder(e.received()[1:]), c) // without the result of initialize
	return strings.ReplaceAll(lines, diagnosis.Program(), "droid-acp")
}

// untilAnswered splits the files of subagents that ask: a call's result is only written after the user's answer.
func untilAnswered(c *fixture.Conversation, parts bool) (files, rest map[string][]byte) {
	files, rest = c.SessionFiles(), map[string][]byte{}
	asks := slices.ContainsFunc(c.Steps, func(s fixture.Step) bool { return bytes.Contains(s.Msg, []byte("associatedSessionIds")) })
	for id, lines := range files {
		if at := bytes.Index(lines, []byte(`"tool_result"`)); parts && asks && at >= 0 {
			at = bytes.LastIndexByte(lines[:at], '\n') + 1
			files[id], rest[id] = lines[:at:at], lines[at:]
		}
	}
	return files, rest
}

// appendTo adds lines to the file of a session in a store of storeWith.
func appendTo(t *testing.T, s *store.Store, id string, lines []byte) {
	path, err := s.File(id)
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(text, lines...), 0o600))
}

// storeWith is a store that has these files of sessions, by their ids.
func storeWith(t *testing.T, sessions map[string][]byte) *store.Store {
	if len(sessions) == 0 {
		return store.None()
	}
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "-workspace"), 0o700))
	for id, lines := range sessions {
		require.NoError(t, os.WriteFile(filepath.Join(root, "-workspace", id+".jsonl"), lines, 0o600))
	}
	return store.New(root, zap.NewNop())
}

// inOrder sorts consecutive responses by their ids: if two prompts end at the same time, either may be answered first.
func inOrder(lines []wireMessage) []wireMessage {
	isResponse := func(m wireMessage) bool { return m.Method == "" }
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && isResponse(lines[to]) {
			to++
		}
		slices.SortStableFunc(lines[from:to], func(a, b wireMessage) int {
			return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(string(a.ID), string(b.ID)))
		})
		from = to
	}
	return lines
}

// acknowledged moves the response to a prompt right behind it. The adapter waits for it before it interrupts, unlike some recorded clients.
func acknowledged(steps []fixture.Step) []fixture.Step {
	steps = slices.Clone(steps)
	for i := range steps {
		var m, answer struct{ ID, Method string }
		if steps[i].Dir != fixture.ToDroid || json.Unmarshal(steps[i].Msg, &m) != nil || m.Method != "droid.add_user_message" {
			continue
		}
		at := slices.IndexFunc(steps[i:], func(s fixture.Step) bool {
			return s.Dir == fixture.FromDroid && json.Unmarshal(s.Msg, &answer) == nil && answer.Method == "" && answer.ID == m.ID
		})
		if at > 1 {
			s := steps[i+at]
			steps = slices.Insert(slices.Delete(steps, i+at, i+at+1), i+1, s)
		}
	}
	return steps
}

// recordedClient acts as the client of a recording did.
type recordedClient struct {
	t       *testing.T
	answers []string // in the order of the requests of droid
	plan    string   // as the client edited it
	end     <-chan struct{}
}

func (r *recordedClient) act(e *editor, step fixture.Step) {
	var m struct {
		Method string
		Params struct{ Text, Title string }
	}
	require.NoError(r.t, json.Unmarshal(step.Msg, &m))
	switch m.Method {
	case "droid.initialize_session":
		answer := e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)
		e.session = e.sessionOf(answer)
	case "droid.add_user_message":
		e.prompt(m.Params.Text)
	case "droid.interrupt_session":
		e.cancel()
	case "droid.rename_session":
		e.prompt("/rename " + m.Params.Title)
	case "":
		// answered by answer when it was asked
	default:
		r.t.Fatalf("the fixture has a %s, which the adapter never sends", m.Method)
	}
}

// leftOpen marks a request that the recorded client did not answer in time.
const leftOpen = "left open"

// recordedAnswers are the client's answers to droid's requests, one after the
// other: an option, the answers to questions, or leftOpen where the turn was
// interrupted first.
func recordedAnswers(steps []fixture.Step) []string {
	var answers []string
	asked := ""
	for _, step := range steps {
		var m struct {
			ID     string
			Method string
			Result *struct {
				SelectedOption string
				Cancelled      bool
				Answers        []struct{ Answer string }
			}
		}
		if (step.Dir != fixture.ToDroid && step.Dir != fixture.FromDroid) || json.Unmarshal(step.Msg, &m) != nil {
			continue
		}
		switch {
		case step.Dir == fixture.FromDroid && (m.Method == "droid.request_permission" || m.Method == "droid.ask_user"):
			asked = m.ID
		case step.Dir == fixture.ToDroid && m.Method == "droid.interrupt_session" && asked != "":
			answers = append(answers, leftOpen)
			asked = ""
		case step.Dir == fixture.ToDroid && m.Method == "" && m.ID == asked && m.Result != nil:
			asked = ""
			if m.Result.SelectedOption != "" {
				answers = append(answers, m.Result.SelectedOption)
			} else if m.Result.Cancelled {
				answers = append(answers, "") // dismissed
			}
			for _, a := range m.Result.Answers {
				answers = append(answers, a.Answer)
			}
		}
	}
	return answers
}

// editedPlanOf is the plan that the recorded client edited, if it did.
func editedPlanOf(steps []fixture.Step) string {
	for _, step := range steps {
		var m struct {
			Result struct{ EditedSpecContent string }
		}
		if step.Dir == fixture.ToDroid && json.Unmarshal(step.Msg, &m) == nil && m.Result.EditedSpecContent != "" {
			return m.Result.EditedSpecContent
		}
	}
	return ""
}

func (r *recordedClient) fill(protocol.ElicitationParams) string {
	return fmt.Sprintf(`{"action":"accept","content":{"plan":%q}}`, r.plan)
}

// answer picks the option that has the recorded answer as id or name.
func (r *recordedClient) answer(p permission) string {
	// droid 0.99 has the user pick one of several plans first.
	if strings.HasPrefix(p.Options[0].OptionID, "plan_") {
		return p.Options[0].OptionID
	}
	if len(r.answers) == 0 {
		return ""
	}
	want := r.answers[0]
	r.answers = r.answers[1:]
	if want == leftOpen {
		<-r.end
		return ""
	}
	if want == stream.OptionEdit {
		want = render.EditOption
	}
	for _, o := range p.Options {
		if o.OptionID == want || o.Name == want {
			return o.OptionID
		}
	}
	return want
}

var uuidPattern = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// readable writes messages as "method params", with the text chunks of a message joined, without the session ID, and with generated IDs
// hidden.
func readable(messages []wireMessage, c *fixture.Conversation) string {
	recorded := map[string]bool{}
	for _, step := range c.Steps {
		for _, id := range uuidPattern.FindAllString(string(step.Msg), -1) {
			recorded[id] = true
		}
	}
	var lines []string
	var last *chunk
	for _, m := range messages {
		if m.Method == "$/cancel_request" {
			continue // the SDK sends it from another goroutine: its position varies
		}
		if ownUpdate(m) {
			continue
		}
		if c := chunkOf(m); c != nil {
			if last != nil && last.key == c.key {
				last.text += c.text
				lines[len(lines)-1] = last.line()
				continue
			}
			last = c
			lines = append(lines, c.line())
			continue
		}
		last = nil
		lines = append(lines, readableMessage(m))
	}
	text := strings.Join(lines, "\n") + "\n"
	return uuidPattern.ReplaceAllStringFunc(text, func(id string) string {
		if recorded[id] {
			return id
		}
		return "(new id)"
	})
}

// ownUpdate reports whether an update does not come from the recording, or comes at varying times. Such updates have other tests.
func ownUpdate(m wireMessage) bool {
	var p struct {
		Update struct{ SessionUpdate string }
	}
	_ = json.Unmarshal(m.Params, &p)
	switch p.Update.SessionUpdate {
	case "config_option_update", "available_commands_update", "usage_update":
		return true
	}
	return false
}

// chunk is a text chunk with what tells its message from others.
type chunk struct{ key, text string }

func (c *chunk) line() string { return fmt.Sprintf("%s %q", c.key, c.text) }

func chunkOf(m wireMessage) *chunk {
	var p struct {
		Update struct {
			SessionUpdate, MessageID string
			Content                  json.RawMessage
		}
	}
	if json.Unmarshal(m.Params, &p) != nil || !strings.HasSuffix(p.Update.SessionUpdate, "_chunk") {
		return nil
	}
	var content struct{ Text string }
	_ = json.Unmarshal(p.Update.Content, &content)
	return &chunk{p.Update.SessionUpdate + " " + p.Update.MessageID, content.Text}
}

func readableMessage(m wireMessage) string {
	switch {
	case m.Method == "session/update":
		var p struct{ Update json.RawMessage }
		_ = json.Unmarshal(m.Params, &p)
		return "update " + compact(p.Update)
	case m.Method != "":
		var p map[string]json.RawMessage
		_ = json.Unmarshal(m.Params, &p)
		delete(p, "sessionId")
		params, _ := json.Marshal(p)
		return "request " + m.Method + " " + compact(params)
	case m.Error != nil:
		text, _ := json.Marshal(m.Error)
		return "error " + compact(text)
	}
	return "result " + compact(m.Result)
}

// compact leaves < > & unescaped, for readers.
func compact(raw json.RawMessage) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	if result, ok := v.(map[string]any); ok {
		delete(result, "configOptions") // long, and options_test.go looks at them
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return strings.TrimSpace(out.String())
}
