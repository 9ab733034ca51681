package fakedroid

import (
	"bytes"
	"strings"
	"time"
)

// NonsenseText is the assistant's text in every turn of Nonsense that ends: a client that survives shows it once, and nothing else.
const NonsenseText = "Sense in all the nonsense."

// hugeLine is the length in bytes of the line that Nonsense writes on "huge".
const hugeLine = 20 << 20

// Nonsense plays a droid that misbehaves. The first word of the prompt chooses:
//
//	huge     a line of 20 MiB before the text
//	silence  nothing after the echo, until interrupted
//	wedge    no reaction any more, not even to an interrupt or the end of input
//	         (quirk 25); only for a separate process, which must be killed
//	die      half of the text, then exit code 3 with words on stderr
//	idle     idle before the snapshot of the message (seed 0.36.2)
//
// Any other prompt gets the text among unknown events, unknown and ill-typed fields, repetitions, events out of order, lines that are not
// JSON, and unknown requests.
func Nonsense() Script {
	return func(d *Droid) error {
		for {
			p, err := d.AwaitPrompt()
			if err != nil {
				return err
			}
			word, _, _ := strings.Cut(p.Text, " ")
			if word == "wedge" {
				for {
					time.Sleep(time.Hour)
				}
			}
			if err := d.Turn(p, func() error { return d.nonsenseTurn(word) }); err != nil {
				return err
			}
		}
	}
}

func (d *Droid) nonsenseTurn(word string) error {
	switch word {
	case "huge":
		if err := d.Notify("huge_event", Fields{"blob": strings.Repeat("x", hugeLine)}); err != nil {
			return err
		}
		return d.Say("", NonsenseText)
	case "silence":
		return d.Silence()
	case "die":
		if err := d.stream("assistant", d.newID(), 0, "Sense in "); err != nil {
			return err
		}
		return d.Die(3, "panic: the droid fell over\nat line 1\n")
	case "idle":
		return d.prematureIdle()
	}
	return d.babble()
}

// prematureIdle reports idle before the snapshot, and again after it.
func (d *Droid) prematureIdle() error {
	id := d.newID()
	if err := d.stream("assistant", id, 0, NonsenseText); err != nil {
		return err
	}
	if err := d.state("idle"); err != nil {
		return err
	}
	return d.createMessage(id, "assistant", Fields{"content": []Fields{textBlock(NonsenseText)}}, "")
}

func (d *Droid) babble() error {
	if err := d.strayLines(); err != nil {
		return err
	}
	if err := d.strayEvents(); err != nil {
		return err
	}
	for _, method := range []string{"droid.request_teleport", "teleport", ""} {
		if _, err := d.Request(method, Fields{"where": "elsewhere"}); err != nil {
			return err
		}
	}
	tool := Tool{ID: "call_twice", Name: "Read", Input: Fields{"file_path": "/nowhere"}, Result: "nothing"}
	if err := d.Use("", "", tool); err != nil {
		return err
	}
	if err := d.result(tool, "something else", true); err != nil { // a second result
		return err
	}
	return d.sayTwice()
}

// sayTwice sends the text with unknown fields, and repeats its snapshot.
func (d *Droid) sayTwice() error {
	id := d.newID()
	for _, piece := range strings.SplitAfter(NonsenseText, " ") {
		f := Fields{"messageId": id, "blockIndex": 0, "textDelta": piece, "mood": Fields{"good": true}, "nested": deep(50)}
		if err := d.Notify("assistant_text_delta", f); err != nil {
			return err
		}
	}
	content := []Fields{{"type": "hologram", "shape": "cube"}, textBlock(NonsenseText), {"type": 7}}
	for range 2 {
		f := Fields{"content": content, "aura": "blue", "visibility": "both"}
		if err := d.createMessage(id, "assistant", f, ""); err != nil {
			return err
		}
	}
	return d.System("nobody_only", "A system message with an unknown visibility.")
}

// strayLines are lines that are not messages of droid.
func (d *Droid) strayLines() error {
	lines := []string{
		"npm WARN this is no JSON", "", "   ", "null", "42", `"text"`, "[]", "{}", `[{"jsonrpc":"2.0"}]`, `{"jsonrpc":`,
		`{"jsonrpc":"2.0","type":"hello","factoryApiVersion":"9.9.9"}`,
		`{"jsonrpc":"2.0","type":"response","factoryApiVersion":"1.0.0","id":"no-such-request","result":{}}`,
		`{"jsonrpc":"2.0","type":"response","factoryApiVersion":"1.0.0","id":7,"result":[]}`,
		`{"jsonrpc":"2.0","type":"notification","factoryApiVersion":"1.0.0","method":"droid.session_notification"}`,
		`{"jsonrpc":"2.0","type":"notification","factoryApiVersion":"1.0.0","method":"droid.session_notification","params":{"notification":null}}`,
		`{"jsonrpc":"2.0","type":"notification","factoryApiVersion":"1.0.0","method":"droid.session_notification","params":{"notification":{}}}`,
		`{"jsonrpc":"2.0","type":"notification","factoryApiVersion":"1.0.0","method":"droid.other_notification","params":{"a":1}}`,
		"\x1b[31mred\x1b[0m", "\xff\xfe", strings.Repeat("[", 5000),
	}
	for _, l := range lines {
		if err := d.Line([]byte(l)); err != nil {
			return err
		}
	}
	return d.Line(bytes.Repeat([]byte{'x'}, 1<<20))
}

// strayEvents are notifications with unknown or ill-typed content.
func (d *Droid) strayEvents() error {
	events := []struct {
		kind   string
		fields Fields
	}{
		{"quantum_event", Fields{"state": "both"}},
		{"quantum_event", Fields{"state": "neither"}},
		{"droid_working_state_changed", Fields{"newState": 7}},
		{"droid_working_state_changed", Fields{"newState": "daydreaming"}},
		{"create_message", Fields{"message": "a string"}},
		{"create_message", Fields{"message": Fields{"id": 1, "role": []string{"user"}, "content": "text"}}},
		{"tool_progress_update", Fields{"toolUseId": "call_never", "toolName": "Ghost", "update": Fields{"type": "dream"}}},
		{"tool_call", Fields{"toolUse": nil}},
		{"settings_updated", Fields{"settings": Fields{"autonomyLevel": 3, "colour": "red"}}},
		{"permission_resolved", Fields{"requestId": "never-asked", "toolUseIds": nil, "selectedOption": 1}},
		{"session_title_updated", Fields{"title": nil}},
		{"session_token_usage_changed", Fields{"tokenUsage": "many"}},
		{"llm_retry", Fields{"attempt": "first"}},
		{"mcp_status_changed", Fields{"servers": Fields{"a": 1}}},
		{"", Fields{}},
	}
	for _, e := range events {
		if err := d.Notify(e.kind, e.fields); err != nil {
			return err
		}
	}
	return nil
}

// deep nests objects n deep.
func deep(n int) Fields {
	f := Fields{}
	for range n {
		f = Fields{"deeper": f}
	}
	return f
}
