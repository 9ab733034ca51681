//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// orderEnv is how often TestOrder tries each pair, per version.
const orderEnv = "DROID_ACP_E2E_ORDER"

// orderTest is a session with two requests in immediate succession, repeatedly.
type orderTest struct {
	session
	h      home
	model  *modelserver.Server
	models []string // ids of the two models
	round  int
}

// words returns a prompt that is unique to this round.
func (o *orderTest) words(what string) string { return fmt.Sprintf("%s, round %d.", what, o.round) }

// pipelined sends a request for an option without waiting.
func (o *orderTest) pipelined(id, value string) int {
	return o.request("session/set_config_option", map[string]any{"sessionId": o.id, "configId": id, "value": value})
}

// answered waits for a request to succeed.
func (o *orderTest) answered(id int) json.RawMessage {
	o.t.Helper()
	_, l := o.response(id, turnLimit)
	require.Nil(o.t, l.Error)
	return l.Result
}

// askedOf returns the name of the model that got the first request with these words, and the request.
func (o *orderTest) askedOf(words string) (string, modelserver.Request) {
	for _, r := range o.model.Requests() {
		if !r.Side && len(r.Messages) > 0 && strings.Contains(string(r.Body), words) {
			return modelOf(r), r
		}
	}
	return "", modelserver.Request{}
}

// stored returns droid's file of a session.
func (o *orderTest) stored(id string) string {
	files, err := filepath.Glob(filepath.Join(o.h.dir, ".factory", "sessions", "*", id+".jsonl"))
	require.NoError(o.t, err)
	require.Len(o.t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(o.t, err)
	return string(text)
}

// dangerous are pairs of which the second must not overtake the first.
var dangerous = map[string]func(*orderTest){
	"normal, prompt": func(o *orderTest) {
		o.set("mode", "auto-high")
		before := len(o.asked())
		mode := o.pipelined("mode", "normal")
		end := o.prompt(o.words("run it")).end(turnLimit)
		o.answered(mode)
		require.Nil(o.t, end.Err)
		require.Len(o.t, o.asked(), before+1, "the command was asked about")
		require.NoFileExists(o.t, filepath.Join(o.h.work, "unasked"))
	},
	"model, prompt": func(o *orderTest) {
		want := o.round % 2
		model, turn := o.pipelined("model", o.models[want]), o.prompt(o.words("who"))
		require.Equal(o.t, "end_turn", turn.end(turnLimit).Stop)
		o.answered(model)
		got, _ := o.askedOf(o.words("who"))
		require.Equal(o.t, fmt.Sprintf("scripted-%d", want+1), got)
	},
	"prompt, model": func(o *orderTest) {
		o.set("model", o.models[1-o.round%2])
		turn := o.prompt(o.words("who"))
		model := o.pipelined("model", o.models[o.round%2])
		require.Equal(o.t, "end_turn", turn.end(turnLimit).Stop)
		o.answered(model)
		got, _ := o.askedOf(o.words("who"))
		require.Equal(o.t, fmt.Sprintf("scripted-%d", 2-o.round%2), got)
	},
	"seeing model, image": func(o *orderTest) {
		o.set("model", o.models[1])
		model := o.pipelined("model", o.models[0])
		turn := o.send(o.words("who"), imageBlock("image/png", png(o.t.(*testing.T), 100)))
		end := turn.end(turnLimit)
		require.Nil(o.t, end.Err)
		o.answered(model)
		got, request := o.askedOf(o.words("who"))
		require.Equal(o.t, "scripted-1", got)
		require.Contains(o.t, string(request.Body), "image_url")
	},
	"fork, prompt": func(o *orderTest) {
		fork := o.request("session/fork", o.h.params(o.id))
		require.Equal(o.t, "end_turn", o.prompt(o.words("who")).end(turnLimit).Stop)
		var copied newSession
		require.NoError(o.t, json.Unmarshal(o.answered(fork), &copied))
		require.Contains(o.t, o.stored(o.id), o.words("who"))
		require.False(o.t, strings.Contains(o.stored(copied.SessionID), o.words("who")), "the copy has what came after it")
		o.mustCall("session/close", map[string]any{"sessionId": copied.SessionID}, nil)
	},
	"messages, prompt": func(o *orderTest) {
		messages := o.request("_droid/messages", map[string]any{"sessionId": o.id})
		require.Equal(o.t, "end_turn", o.prompt(o.words("who")).end(turnLimit).Stop)
		require.NotContains(o.t, string(o.answered(messages)), o.words("who"))
	},
}

// The first request takes effect first, as the model sees it, and no command runs without permission.
func TestOrder(t *testing.T) {
	ofAdapter(t)
	rounds := 3
	if n, err := strconv.Atoi(os.Getenv(orderEnv)); err == nil {
		rounds = n
	}
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h.addModel(t, "scripted-2", "Second", "noImageSupport")
		model.On("who", modelserver.Step{Text: "Me."})
		model.On("run it", modelserver.Step{Tools: []modelserver.ToolCall{execute("", "touch "+filepath.Join(h.work, "unasked"))}}, modelserver.Step{Text: "Ran."})
		s := startAgent(t, h).open(h)
		require.Equal(t, "end_turn", s.prompt("who is there").end(turnLimit).Stop)
		o := &orderTest{session: s, h: h, model: model, models: []string{modelserver.ModelID, ""}}
		for _, id := range s.set("follow_up", "queue").values("model") {
			if strings.HasPrefix(id, "custom:Second") {
				o.models[1] = id
			}
		}
		for name, try := range dangerous {
			begin := time.Now()
			for range rounds {
				o.round++
				try(o)
			}
			t.Logf("%s: %d rounds in %v", name, rounds, time.Since(begin).Round(time.Second))
		}
	})
}
