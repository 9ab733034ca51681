package export

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// pageOf renders the page of a history, with quotes and signs as people read them.
func pageOf(t *testing.T, history string, o Options) string {
	t.Helper()
	info := &stream.SessionInfo{SessionID: "s1", Title: "<b>Title</b>", AvailableModels: []stream.Model{{ID: "m-1", DisplayName: "Model One"}}}
	require.NoError(t, json.Unmarshal([]byte(history), &info.Messages))
	o.CWD, o.Zone = "/w", time.UTC
	var page strings.Builder
	require.NoError(t, Page(info, o).render(&page))
	return strings.NewReplacer("&#43;", "+", "&#34;", `"`, "&#39;", "'").Replace(page.String())
}

func contains(t *testing.T, page string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		require.True(t, strings.Contains(page, part), "the page lacks %q", part)
	}
}

// called is a history of one call of a tool and its result.
func called(t *testing.T, tool string, input, result any, failed bool) string {
	t.Helper()
	history, err := json.Marshal([]any{
		map[string]any{"id": "a", "role": "assistant", "content": []any{map[string]any{"type": "tool_use", "id": "t", "name": tool, "input": input}}},
		map[string]any{"id": "r", "role": "tool", "content": []any{map[string]any{"type": "tool_result", "toolUseId": "t", "isError": failed, "content": result}}},
	})
	require.NoError(t, err)
	return string(history)
}

func TestPageIsSelfContained(t *testing.T) {
	page := pageOf(t, `[
		{"id":"u","role":"user","content":[{"type":"text","text":"Look <script>alert(1)</script> https://example.com/x.png"},
			{"type":"image","source":{"type":"base64","data":"iVBORw0KGgo=","mediaType":"image/png"}}]},
		{"id":"a","role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Done."},
			{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":"/w/a.txt","old_str":"one","new_str":"two"}}]},
		{"id":"r","role":"tool","content":[{"type":"tool_result","tool_use_id":"t","content":"edited"}]}
	]`, Options{})
	contains(t, page, "Hm.", "Done.", ">-one\n", ">+two\n", "<b>Edit</b>", ">a.txt<", "&lt;script&gt;", "&lt;b&gt;Title", "data:image/png;base64,iVBORw0KGgo=")
	require.NotContains(t, page, "<script")
	require.NotRegexp(t, `src="[^d]`, page)
}

// The user's attachments are named if the text does not mention them, and a failed call shows all of its output.
func TestPageHasWhatTheEditorShows(t *testing.T) {
	page := pageOf(t, `[
		{"id":"u","role":"user","content":[{"type":"document","source":{"type":"text","mediaType":"text/plain","name":"/w/a.txt"}},{"type":"text","text":"read it"}]},
		{"id":"a","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Shoot","input":{"content":"a\r\nb","where":"here"}}]},
		{"id":"r","role":"tool","content":[{"type":"tool_result","tool_use_id":"t","isError":true,"content":[
			{"type":"text","text":"two of "},{"type":"text","text":"three"},
			{"type":"image","source":{"type":"base64","data":"AAAA","mediaType":"image/png"}},
			{"type":"image","source":{"type":"base64","data":"BBBB","mediaType":"image/webp"}},
			{"type":"image","source":{"type":"base64","data":"CCCC","mediaType":"image/tiff"}}]}]}
	]`, Options{})
	contains(t, page, "read it\n\n[attached: /w/a.txt]", `class="call bad" open`, ">failed<", `"a\r\nb"`, "two of three", "image/png;base64,AAAA", "image/webp;base64,BBBB")
	require.NotContains(t, page, "CCCC")
}

// Times, models and tokens are those reported by droid or this agent; nothing is shown
// of what is unknown.
func TestPageSaysWhoWhenAndHowMuch(t *testing.T) {
	history := `[
		{"id":"u","role":"user","createdAt":1795230835698,"content":[{"type":"text","text":"one"}]},
		{"id":"a","role":"assistant","createdAt":1795230835781,"modelId":"m-1","content":[{"type":"text","text":"first"}]},
		{"id":"u2","role":"user","createdAt":"soon","content":[{"type":"text","text":"two"}]},
		{"id":"a2","role":"assistant","modelId":{"odd":1},"content":[{"type":"text","text":"second"}]}]`
	page := pageOf(t, history, Options{})
	contains(t, page, `<span class="meta">Model One</span>`, `<time class="meta" datetime="2026-11-21T03:13:55Z">21 Nov 2026, 03:13</time>`, "<dt>Time zone</dt><dd>UTC (+00:00)</dd>")
	require.Equal(t, 2, strings.Count(page, "<time"), "of the first prompt and its answer")
	require.Equal(t, 1, strings.Count(page, "Model One"))
	require.NotContains(t, page, "Tokens")

	page = pageOf(t, history, Options{Turns: map[string]Turn{
		"u":  {Model: "ignored", Used: stream.TokenUsage{InputTokens: 12345, OutputTokens: 67, CacheReadTokens: 1000}},
		"u2": {Model: "m-2"}}})
	contains(t, page, "Tokens: 12,345 read, 1,000 read from the cache, 67 written", `<span class="meta">m-2</span>`)
	require.NotContains(t, page, "ignored", "what droid's history says holds")
	require.Equal(t, 1, strings.Count(page, "Tokens"))
	require.Less(t, strings.Index(page, "12,345"), strings.Index(page, ">two</p>"))
}

// A change is shown as droid reports it, with the lines around it and their numbers.
func TestEditsAsUnifiedDiffs(t *testing.T) {
	result := `{"file_path":"/w/a.go","diffLines":[
		{"type":"unchanged","content":"a","lineNumber":{"old":1,"new":1}},{"type":"removed","content":"b","lineNumber":{"old":2}},
		{"type":"added","content":"B","lineNumber":{"new":2}},{"type":"added","content":"BB","lineNumber":{"new":3}},
		{"type":"unchanged","content":"z","lineNumber":{"old":30,"new":31}},{"type":"removed","content":"y","lineNumber":{"old":31}}]}`
	page := pageOf(t, called(t, "Edit", map[string]any{"file_path": "/w/a.go", "old_str": "b", "new_str": "B\nBB"}, result, false), Options{})
	contains(t, page, `<span class="at">@@ -1,2 +1,3 @@`+"\n</span><span> a\n</span>"+`<span class="del">-b`+"\n</span>"+`<span class="add">+B`+"\n</span>"+`<span class="add">+BB`+"\n"+
		`</span><span class="at">@@ -30,2 +31,1 @@`+"\n</span><span> z\n</span>"+`<span class="del">-y`)
	require.NotContains(t, page, "diffLines")

	page = pageOf(t, called(t, "MultiEdit", map[string]any{"file_path": "/w/a.go", "changes": []any{
		map[string]any{"old_str": "1\n2\n3\n", "new_str": "1\ntwo\n3\n"}, map[string]any{"old_str": "x", "new_str": "y", "change_all": true}}}, "done", false), Options{})
	contains(t, page, "<span> 1\n</span><span class=\"del\">-2\n</span><span class=\"add\">+two\n</span><span> 3\n", "a.go (wherever it stands)", ">+y\n")

	page = pageOf(t, called(t, "Create", map[string]any{"file_path": "/w/n.txt", "content": "a\n<i>\n"}, "File created successfully", false), Options{})
	contains(t, page, ">+a\n", ">+&lt;i&gt;\n")
	require.NotContains(t, page, "File created", "the change says so")

	page = pageOf(t, called(t, "Edit", map[string]any{"file_path": "/w/a.go", "old_str": "b", "new_str": "c"}, "Error: no such text", true), Options{})
	contains(t, page, ">-b\n", ">+c\n", "Error: no such text", "failed")
}

func TestPatchesAsUnifiedDiffs(t *testing.T) {
	text := "*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n@@ func f\n one\n-two\n+2\n*** Add File: c.txt\n+new\n*** Delete File: d.txt\n*** End Patch"
	page := pageOf(t, called(t, "ApplyPatch", map[string]any{"input": text}, `{"success":true,"files":[{"file_path":"d.txt","error":"it is gone"}]}`, false), Options{})
	contains(t, page, "a.go → b.go", "@@ func f", "<span> one\n", ">-two\n", ">+2\n", ">+new\n", "d.txt (deleted)", "Not changed by droid: d.txt (it is gone)")
	page = pageOf(t, called(t, "ApplyPatch", map[string]any{"input": "no patch"}, "Error: bad", true), Options{})
	contains(t, page, "> no patch\n", "Error: bad")
}

func TestCommands(t *testing.T) {
	input := map[string]any{"command": "make <all>", "summary": "Build"}
	page := pageOf(t, called(t, "Execute", input, "Error: Command failed (exit code: 3)\nout & err\n\n\n[Process exited with code 3]", true), Options{})
	contains(t, page, `class="call bad" open`, ">Build<", "exit code 3", "make &lt;all&gt;", ">out &amp; err\n</span></pre>")
	require.NotContains(t, page, "Process exited")
	page = pageOf(t, called(t, "Execute", input, "\x1b[31mred\x1b[0m\n\n\n[Process exited with code 0]", false), Options{})
	contains(t, page, `class="call" open`, "exit code 0", ">red\n</span></pre>")
	page = pageOf(t, called(t, "Execute", input, "Command timed out after 1s\nPartial output before timeout:\nhalf", false), Options{})
	contains(t, page, "timed out", "Command timed out after 1s", ">half</span></pre>", "call bad")
}

// The end of a long output decides, so it is shown, with how much there is.
func TestLongOutput(t *testing.T) {
	var text strings.Builder
	for n := range 5000 {
		fmt.Fprintf(&text, "line %d\n", n+1)
	}
	page := pageOf(t, called(t, "Execute", map[string]any{"command": "make"}, "Error: Command failed (exit code: 3)\n"+text.String()+"\n\n[Process exited with code 3]", true), Options{})
	contains(t, page, `<details class="more"><summary>The first 4,980 of 5,000 lines</summary>`, "line 4980\n</pre></details>", `<pre tabindex="0" class="long end"><span>line 4981`, "line 5000")
	require.Less(t, strings.Index(page, "exit code 3"), strings.Index(page, "line 1\n"))

	page = pageOf(t, called(t, "Execute", map[string]any{"command": "get"}, "\x1b[32m 10 %\r 50 %\r\x1b[0m100 %\r\nlong line\rlon\nold old\r\x1b[Knew\n\n\n[Process exited with code 0]", false), Options{})
	contains(t, page, ">100 %\nlong line\nnew\n</span></pre>")

	kept := strings.Repeat("case\n", 30) + "[... 4943 lines skipped ...]\n" + strings.Repeat("case\n", 30)
	page = pageOf(t, called(t, "Execute", map[string]any{"command": "make"}, kept+"\n\n[Process exited with code 0]", false), Options{})
	contains(t, page, "<summary>The first 41 of 61 lines; the output had more, which droid left out</summary>", "[... 4943 lines skipped ...]")
}

// A turn that failed looks like that.
func TestFailedTurn(t *testing.T) {
	for text, failed := range map[string]bool{"429 slow down": true, "BYOK Error: 401 no key": true, "Connection error.": true, "/review is running": false} {
		page := pageOf(t, `[{"id":"u","role":"user","content":[{"type":"text","text":"go"}]},
			{"id":"n","role":"system","visibility":"user_only","content":[{"type":"text","text":"`+text+`"}]}]`, Options{})
		require.Equal(t, failed, strings.Contains(page, `<div class="failure"><b>The turn failed</b><p class="typed" dir="auto">`+text+`</p>`), text)
	}
}

func TestPlansAndTasks(t *testing.T) {
	page := pageOf(t, called(t, "TodoWrite", map[string]any{"todos": "1. [completed] Read\n2. [in_progress] Write\n3. [pending] <Test>"}, "TODO List Updated", false), Options{})
	contains(t, page, "1 of 3 done", `<li class="done"><span role="img" aria-label="completed">✓</span> <s>Read</s>`, `<li class="now">`, `aria-label="in progress"`, "&lt;Test&gt;")
	require.NotContains(t, page, "TODO List")

	plan := map[string]any{"title": "Big", "plan": "# Goal\n\n1. one"}
	page = pageOf(t, called(t, "ExitSpecMode", plan, `{"approved":true,"message":"go on","filePath":"/s/big.md"}`, false), Options{})
	contains(t, page, "<b>Plan</b>", ">Big<", "<h3>Goal</h3>", "<li>one</li>", "Approved. It is saved in /s/big.md")
	page = pageOf(t, called(t, "ExitSpecMode", plan, `{"approved":true,"message":"go on","isEdited":true}`, false), Options{})
	contains(t, page, "Approved after an edit; this is the plan as it was proposed.")
	page = pageOf(t, called(t, "ExitSpecMode", plan, "The user refused", true), Options{})
	contains(t, page, "<h3>Goal</h3>", "The user refused")
}

func TestQuestionsAndAnswers(t *testing.T) {
	input := map[string]any{"questionnaire": "1. [question] Which?\n[topic] T\n[option] Red\n[option] Blue\n\n2. [question] Parts? (multi)\n[topic] P\n[option] Door\n[option] Roof\n\n3. [question] Why?\n[topic] W\n"}
	page := pageOf(t, called(t, "AskUser", input, "1. [question] Which?\n[answer] Blue\n\n2. [question] Parts?\n[answer] Door, Cellar\n\n3. [question] Why?\n[answer] Because\nof that.", false), Options{})
	contains(t, page, "<b>Questions</b>", "<li>Red", `<li class="chosen">Blue`, `<li class="chosen">Door`, "<li>Roof", `dir="auto">Cellar <`, "Because\nof that.")
	page = pageOf(t, called(t, "AskUser", input, "The user declined to answer", false), Options{})
	contains(t, page, "<li>Blue", "The user declined to answer")
	require.NotContains(t, page, `"chosen"`)
}

// The answer of a background subagent is in its report; without one, its outcome is unknown.
func TestSubagentOfTheBackground(t *testing.T) {
	launched := called(t, "Task", map[string]any{"description": "Look"}, "Task launched in background.\ntask_id: k1\nsession_id: k1", false)
	page := pageOf(t, launched, Options{})
	contains(t, page, "What became of it is not known.")
	require.NotContains(t, page, "k1")
	report, err := json.Marshal(map[string]any{"id": "task-completion:1", "role": "user", "visibility": "llm_only", "content": []any{map[string]any{"type": "text",
		"text": "Background task completed.\ntask_id: k1\ntype: worker\nreason: completed\ndescription: Look\noutput: ## Found\n\nBackground task \"Look\" (k1) just completed."}}})
	require.NoError(t, err)
	page = pageOf(t, strings.TrimSuffix(launched, "]")+","+string(report)+"]", Options{})
	contains(t, page, "The subagent worked in the background and is done.", "<h4>Found</h4>")
	require.NotContains(t, page, "k1")
}

func TestSubagentsAndOthersAreFolded(t *testing.T) {
	page := pageOf(t, called(t, "Task", map[string]any{"subagent_type": "worker", "description": "Look", "prompt": "Find **all**."}, "## Found\n\nnothing", false), Options{})
	contains(t, page, `<details class="call"><summary><b>Subagent</b> <span class="title">worker: Look`, "<strong>all</strong>", "<h4>Found</h4>")
	page = pageOf(t, called(t, "Read", map[string]any{"file_path": "/w/a.go", "limit": 3}, "package a", false), Options{})
	contains(t, page, `<details class="call"><summary><b>Read</b>`, "package", "limit")
	page = pageOf(t, called(t, "box___open", map[string]any{"lid": true, "query": "q"}, "opened <it>", false), Options{})
	contains(t, page, "<b>box: open</b>", "opened &lt;it&gt;", "lid")
}

// A turn that failed looks so, by whichever of droid's words for that.
func TestFailedTurns(t *testing.T) {
	for _, words := range []string{"401 bad key", "BYOK Error: Custom model configuration is unavailable", "Connection error.",
		"Authentication failed. Please log in using /login or set a valid FACTORY_API_KEY environment variable.",
		"Unable to reach http://127.0.0.1:1. Your internet connection may be offline or interrupted."} {
		page := pageOf(t, fmt.Sprintf(`[{"id":"n","role":"user","visibility":"user_only","content":[{"type":"text","text":%q}]}]`, words), Options{})
		contains(t, page, "The turn failed", words)
	}
}

// An answer that was cut and continues in another message is one text: its code is not split.
func TestCutAnswerIsOneText(t *testing.T) {
	page := pageOf(t, "["+`{"id":"a1","role":"assistant","content":[{"type":"text","text":"`+"```go\\nfunc f() {\\n"+`"}]},
		{"id":"x","role":"user","visibility":"llm_only","content":[{"type":"text","text":"Your previous response ended before completion. Continue where you left off."}]},
		{"id":"a2","role":"assistant","content":[{"type":"text","text":"`+"}\\n```\\nDone."+`"}]}]`, Options{})
	contains(t, page, "}\n</code></pre>\n<p>Done.</p>")
	require.Equal(t, 1, strings.Count(page, "<pre"))
}

// A call without a result is marked as such; droid's messages outside the conversation are notes.
func TestUnfinishedCallsAndNotices(t *testing.T) {
	page := pageOf(t, `[{"id":"a","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Execute","input":{"command":"sleep 9"}}]},
		{"id":"n","role":"system","visibility":"user_only","content":[{"type":"text","text":"So it *is*"}]}]`, Options{})
	contains(t, page, "not finished", "sleep", `<p class="note typed" dir="auto">So it *is*</p>`)
}

// The page of a compacted conversation begins with the summary, as Markdown.
func TestSummaryOfWhatWasSaidBefore(t *testing.T) {
	const history = `[{"id":"u","role":"user","content":[{"type":"text","text":"And now?"}]}]`
	page := pageOf(t, history, Options{Summary: "The user wants **tea**."})
	contains(t, page, "What was said before was compacted", "The user wants <strong>tea</strong>.")
	require.Less(t, strings.Index(page, "tea"), strings.Index(page, "And now?</"))
	require.NotContains(t, pageOf(t, history, Options{}), "compacted")
}
