//go:build e2e && linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	imagepng "image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"droid-acp/internal/testing/modelserver"
)

// picturesEnv names a directory for the exported page and pictures of it, as shown in docs/features.md.
const picturesEnv = "DROID_ACP_E2E_PICTURES"

const exportedAnswer = "## What I changed\n\n`greet` now takes a **name**; ~~hello~~ *good morning* is the new word.\n\n" +
	"| call | result |\n|---|---:|\n| `greet(\"Ada\")` | good morning, Ada |\n| `greet(\"\")` | an error |\n\n" +
	"- [x] change `greet`\n- [ ] test it\n\n```go\nfunc greet(name string) string {\n\treturn \"good morning, \" + name // <script>alert(1)</script>\n}\n```\n\n" +
	"More in [the guide](https://example.com/guide), in [a file](file:///etc/passwd) and ![a picture](https://example.com/x.png). " +
	"<img src=\"https://example.com/y.png\" onerror=\"alert(1)\"> and [click](javascript:alert(1)) stay text."

// exportedTurns scripts two turns: a todo list, an edit, a command that fails, a question,
// a subagent that cannot start, and a plan.
func exportedTurns(model *modelserver.Server, h home) {
	file := filepath.Join(h.work, "greet.go")
	calls := 0
	tool := func(name string, args map[string]any) []modelserver.ToolCall {
		calls++
		return []modelserver.ToolCall{{ID: fmt.Sprintf("call_%d", calls), Name: name, Args: args}}
	}
	model.On("Please greet people by name.",
		modelserver.Step{Thinking: "A picture, and a small file. I look at it first.", Text: "I look at the file first.", Tools: tool("Read", map[string]any{"file_path": file})},
		modelserver.Step{Tools: tool("TodoWrite", map[string]any{"todos": "1. [completed] Read greet.go\n2. [in_progress] Change it\n3. [pending] Run the tests\n"})},
		modelserver.Step{Text: "Now the change.", Tools: tool("Edit", map[string]any{"file_path": file,
			"old_str": "func greet() string {\n\treturn \"hello\"\n", "new_str": "func greet(name string) string {\n\treturn \"good morning, \" + name\n"})},
		modelserver.Step{Text: "And a test run.", Tools: []modelserver.ToolCall{execute("x", "echo 'ok   greet'; echo 'FAIL main_test.go:7: <b>want</b> 1' >&2; exit 3")}},
		modelserver.Step{Text: "One thing I need to know:", Tools: tool("AskUser", map[string]any{
			"questionnaire": "1. [question] What if the name is empty?\n[topic] Empty\n[option] An error\n[option] Just the greeting\n"})},
		modelserver.Step{Tools: tool("Task", map[string]any{"subagent_type": "worker", "description": "Look for other callers",
			"prompt": "Find **all callers** of greet.", "complexity": "light", "run_in_background": false})},
		modelserver.Step{Tools: tool("TodoWrite", map[string]any{"todos": "1. [completed] Read greet.go\n2. [completed] Change it\n3. [completed] Run the tests\n"})},
		modelserver.Step{Text: exportedAnswer})
	model.On("Run the long test.",
		modelserver.Step{Text: "It takes a while.", Tools: []modelserver.ToolCall{execute("long",
			"printf ' 10 %%\\r 50 %%\\r100 %%\\n'; for n in $(seq 5000); do echo \"case $n passed\"; done; echo 'case 5001 FAILED'; exit 3")}},
		modelserver.Step{Status: 400})
	model.On("Now plan the release.",
		modelserver.Step{Text: "Here is a plan.", Tools: tool("ExitSpecMode", map[string]any{"title": "Release greet", "plan": "# Release\n\n1. Tag **v1.1**\n2. Tell people\n"})},
		modelserver.Step{Text: "It is tagged."})
}

// TestExportInABrowser opens an exported conversation in headless Chromium: every part of the conversation is shown in its form, its
// content stays text, the console is empty and no request leaves the file. It is skipped without Chromium (Debian: apt-get install
// chromium).
func TestExportInABrowser(t *testing.T) {
	alsoFar(t)
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium in PATH")
	}
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h.write(t, "greet.go", "package main\n\nfunc greet() string {\n\treturn \"hello\"\n}\n\nfunc main() {\n\tprintln(greet())\n}\n")
		exportedTurns(model, h)
		s := startAgent(t, h).onPermission(allowOrFirst).open(h)
		require.Equal(t, "end_turn", s.send("Please greet people by name.", imageBlock("image/png", drawing(t))).end(turnLimit).Stop)
		require.NotNil(t, s.prompt("Run the long test.").end(turnLimit).Err)
		s.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "spec"}, nil)
		require.Equal(t, "end_turn", s.prompt("Now plan the release.").end(turnLimit).Stop)
		require.Equal(t, "end_turn", s.prompt("/export out.html").end(turnLimit).Stop)

		page := filepath.Join(h.work, "out.html")
		keepPictures(t, browser, page, h)
		dom := openPage(t, browser, page)
		for _, part := range exportedParts {
			require.True(t, strings.Contains(dom, part), "the page lacks %q", part)
		}
		if h.version == newDroid {
			require.Contains(t, dom, `<p class="tokens">Tokens: 800 read, 80 written</p>`, "droid tells it since 0.215")
		}
		requireHarmless(t, dom)
		s.end(h)

		again := startAgent(t, h).initialize()
		again.mustCall("session/load", h.params(s.id), nil)
		again.mustCall("_droid/export", map[string]any{"sessionId": s.id, "path": "again.html"}, nil)
		data, err := os.ReadFile(filepath.Join(h.work, "again.html"))
		require.NoError(t, err)
		require.Contains(t, string(data), "<h4>What I changed</h4>")
		require.Equal(t, h.kept, strings.Contains(string(data), "Tokens: 800"), "an agent that is not kept has not seen the turn")
		require.Equal(t, h.version != oldDroid, strings.Contains(string(data), `<h2>droid <span class="meta">Scripted</span>`), "droid's file has the model since 0.215")
	})
}

// requireHarmless checks that a page has no element or attribute that runs or loads anything.
func requireHarmless(t *testing.T, dom string) {
	t.Helper()
	tokens := html.NewTokenizer(strings.NewReader(dom))
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		tag := tokens.Token()
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		require.NotContains(t, []string{"script", "iframe", "object", "embed", "form", "input", "base", "svg"}, tag.Data)
		for _, a := range tag.Attr {
			require.NotRegexp(t, "^on|^style$|^srcset$", a.Key)
			switch a.Key {
			case "src":
				require.Regexp(t, "^data:image/", a.Val)
			case "href":
				require.Regexp(t, "^(https?://|mailto:|#|data:,$)", a.Val)
			}
		}
	}
}

// drawing is an image that a person can see.
func drawing(t *testing.T) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 240, 60))
	for x := range 240 {
		for y := range 60 {
			img.Set(x, y, color.RGBA{uint8(40 + x/2), uint8(90 + y), 180, 255})
		}
	}
	var b bytes.Buffer
	require.NoError(t, imagepng.Encode(&b, img))
	return b.Bytes()
}

// exportedParts are expected in the rendered page.
var exportedParts = []string{
	"A picture, and a small file.", `src="data:image/`, "<h2>You", `<h2>droid <span class="meta">Scripted</span>`,
	`<h4>What I changed</h4>`, "<strong>name</strong>", "~~hello~~", "<em>good morning</em>", `<td>good morning, Ada</td>`,
	`<li>[x] `, "func greet(name string) string {", "&lt;script&gt;alert(1)&lt;/script&gt;", `<a href="https://example.com/guide" rel="noreferrer noopener">the guide</a>`,
	`(file:///etc/passwd)`, `<a href="https://example.com/x.png" rel="noreferrer noopener">image: a picture</a>`, "(javascript:alert(1))",
	"1 of 3 done", `<li class="now">`, "@@ -1,7 +1,7 @@", "<span class=\"del\">-\treturn \"hello\"", "<span class=\"add\">+\treturn \"good morning, \" + name",
	`<div class="failure"><b>The turn failed</b>`, `<details class="more"><summary>`, "100 %\ncase 1 passed", "case 5000 passed\ncase 5001 FAILED",
	"exit code 3", "FAIL main_test.go:7: &lt;b&gt;want&lt;/b&gt; 1", `<li class="chosen">An error`, "<b>Subagent</b>", "<strong>all callers</strong>",
	"<b>Plan</b>", "<strong>v1.1</strong>", "Approved.", "It is tagged.",
}

// allowOrFirst allows what can be allowed and selects the first answer of a question.
func allowOrFirst(p permission) string {
	if id := p.Option("allow_once"); id != "" {
		return id
	}
	return p.Options[0].OptionID
}

// chromium runs a headless Chromium with an empty home.
func chromium(t *testing.T, browser, page string, args ...string) (stdout, stderr string) {
	t.Helper()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
		"--disable-component-update", "--disable-sync", "--user-data-dir=" + t.TempDir(), "--enable-logging=stderr", "--virtual-time-budget=3000"}, args...)
	cmd := exec.Command(browser, append(args, "file://"+page)...)
	var log strings.Builder
	cmd.Stderr = &log
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	require.NoError(t, err, log.String())
	return string(out), log.String()
}

// openPage returns the rendered page. The browser must report no error and send no other request.
func openPage(t *testing.T, browser, page string) (dom string) {
	t.Helper()
	netlog := filepath.Join(t.TempDir(), "net.json")
	dom, said := chromium(t, browser, page, "--log-net-log="+netlog, "--dump-dom")
	for line := range strings.Lines(said) {
		if strings.Contains(line, "CONSOLE") && !strings.Contains(line, "source: chrome://") { // the browser's own pages
			t.Error(line)
		}
	}
	require.Empty(t, requested(t, netlog))
	return dom
}

// keepPictures stores the page and pictures of it, if requested. The test's directory has a shorter name there.
func keepPictures(t *testing.T, browser, page string, h home) {
	t.Helper()
	dir := os.Getenv(picturesEnv)
	if dir == "" {
		return
	}
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	page = filepath.Join(dir, "page-"+h.version+".html")
	require.NoError(t, os.WriteFile(page, bytes.ReplaceAll(data, []byte(h.dir), []byte("/home/ada")), 0o644))
	for name, args := range map[string][]string{"wide": {"--window-size=960,3400"}, "narrow": {"--window-size=500,4100"},
		"dark": {"--window-size=960,3400", "--blink-settings=preferredColorScheme=0"}} {
		chromium(t, browser, page, append(args, "--screenshot="+strings.TrimSuffix(page, "html")+name+".png")...)
	}
}

// requested returns the addresses that a net log of Chromium has requests for, except for its own and the file's.
func requested(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var log struct {
		Events []struct {
			Params struct {
				URL string `json:"url"`
			} `json:"params"`
		} `json:"events"`
	}
	if json.Unmarshal(data, &log) != nil { // Chromium ends it late
		require.NoError(t, json.Unmarshal([]byte(strings.TrimRight(string(data), ",\n ")+"]}"), &log))
	}
	var out []string
	for _, e := range log.Events {
		u := e.Params.URL
		if u != "" && !strings.HasPrefix(u, "file:") && !strings.HasPrefix(u, "chrome") && !strings.HasPrefix(u, "data:") &&
			!strings.Contains(u, "google") {
			out = append(out, u)
		}
	}
	return out
}
