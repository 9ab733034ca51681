//go:build linux

package session_test

import (
	"fmt"
	"math/rand"
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
)

var (
	worldKinds  = []string{"says", "says", "tool", "asks", "background", "long", "reports"}
	worldModes  = []stream.Mode{stream.ModeNormal, stream.ModeAutoHigh, stream.ModeSpec, stream.ModeAutoLow}
	worldFaults = []string{"cancel", "cancel", "cancel one", "crash", "disk", "mute"}
	worldWaits  = []time.Duration{0, 0, 0, time.Millisecond, 50 * time.Millisecond, 500 * time.Millisecond, 3 * time.Second, 20 * time.Second, 2 * time.Minute}
	// worldSteps lists the possible steps, each as often as its weight.
	worldSteps = strings.Fields("prompt prompt prompt prompt prompt prompt task task task edit edit edit edit edit edit steer steer steer mode mode mode /mode /mode title title /rename /rename " +
		"load load load-others resume fork /fork close new /compact /compact /rewind /rewind /rewind-files /trust-yes /trust-no trouble answer answer answer answer rest")
)

// draw draws the steps of a world. Usually a step happens at the same time as another one of the same session.
func draw(seed int64) []step {
	rng := rand.New(rand.NewSource(seed))
	steps := make([]step, 8+rng.Intn(25))
	var win, ses int
	for i := range steps {
		switch rng.Intn(5) {
		case 0:
			win = 1 - win
		case 1:
			win, ses = rng.Intn(2), rng.Intn(3)
		}
		s := &steps[i]
		s.op, s.win, s.ses, s.n = worldSteps[rng.Intn(len(worldSteps))], win, ses, rng.Intn(1000)
		s.wait = worldWaits[rng.Intn(len(worldWaits))]
		if rng.Intn(3) == 0 {
			s.fault, s.lines = worldFaults[rng.Intn(len(worldFaults))], rng.Intn(8)-1
		}
	}
	return steps
}

// does a step, and lets its time pass.
func (w *world) step(s step) {
	win := w.wins[s.win]
	w.mu.Lock()
	session := "none"
	if len(w.ids) > 0 {
		session = w.ids[s.ses%len(w.ids)]
		if s.ses == 2 { // mostly the window's own
			session = w.ids[s.win%len(w.ids)]
		}
	}
	w.mu.Unlock()
	opens := fmt.Sprintf(`"cwd":%q,"mcpServers":[]`, w.dir)
	var a *request
	switch s.op {
	case "prompt":
		a = win.prompts("session/prompt", session, "p%d "+worldKinds[s.n%len(worldKinds)])
	case "task":
		a = win.prompts("session/prompt", session, "p%d "+[]string{"delegates", "spawns"}[s.n%2])
	case "edit":
		a = win.prompts("session/prompt", session, fmt.Sprintf("p%%d edits f%d", s.n%len(win.edited)))
	case "steer":
		a = win.prompts("_session/steering", session, "p%d says")
	case "mode", "/mode":
		mode := &modeAsked{mode: worldModes[s.n%len(worldModes)]}
		if s.op == "mode" {
			a = win.does("session/set_mode", session, fmt.Sprintf(`"modeId":%q`, mode.mode), mode)
		} else {
			a = win.commands(session, "/mode "+string(mode.mode), mode)
		}
	case "title":
		title := fmt.Sprint("Title ", s.n)
		a = win.does("session/set_title", session, fmt.Sprintf(`"title":%q`, title), nil)
		w.names(a, title)
	case "/rename":
		title := fmt.Sprint("Title ", s.n)
		a = win.commands(session, "/rename "+title, nil)
		w.names(a, title)
	case "load":
		a = win.does("session/load", session, opens, nil)
	case "load-others":
		server := fmt.Sprintf(`{"name":"m%d","command":"/bin/true","args":[],"env":[]}`, s.n)
		a = win.does("session/load", session, strings.Replace(opens, "[]", "["+server+"]", 1), nil)
	case "resume":
		a = win.does("session/resume", session, opens, nil)
	case "fork":
		a = win.does("session/fork", session, opens, nil)
	case "new":
		if len(w.ids) < 4 {
			a = win.does("session/new", "", opens, nil)
		}
	case "close":
		a = win.does("session/close", session, "", nil)
	case "/rewind":
		a = win.commands(session, fmt.Sprint("/rewind ", 1+s.n%3), nil)
	case "/rewind-files":
		a = win.commands(session, fmt.Sprint("/rewind ", 1+s.n%3, " files"), nil)
	case "/fork", "/compact", "/trust-yes", "/trust-no":
		a = win.commands(session, strings.Replace(s.op, "-", " ", 1), nil)
	case "trouble":
		w.mu.Lock()
		w.trouble = []string{"refuses", "ignores", "silent"}[s.n%3]
		w.mu.Unlock()
		time.AfterFunc(15*time.Second, func() { w.mu.Lock(); w.trouble = ""; w.mu.Unlock() })
	case "answer":
		win.answers(s.n)
	}
	if s.fault != "" {
		strike := func() { w.strike(s, win, session, a) }
		if s.lines < 0 {
			strike()
		} else {
			w.mu.Lock()
			w.armed = append(w.armed, trap{s.lines, strike})
			w.mu.Unlock()
		}
	}
	w.sleep(s.wait)
	if s.wait >= 50*time.Millisecond {
		w.atRest()
	}
}

// sleep lets time pass, and handles what comes in it.
func (w *world) sleep(wait time.Duration) {
	for ; wait > 0; wait -= 5 * time.Second {
		time.Sleep(min(wait, 5*time.Second))
		w.hear()
	}
}

// strike has a fault happen.
func (w *world) strike(s step, win *window, session string, a *request) {
	w.mu.Lock()
	w.note("fault", s.fault, nil)
	w.mu.Unlock()
	if s.fault == "disk" || s.fault == "mute" || s.fault == "crash" {
		w.mu.Lock()
		w.faulty = true
		w.mu.Unlock()
	}
	switch s.fault {
	case "cancel":
		w.mu.Lock()
		for _, open := range w.asks {
			if open.win == win && open.session == session && open.method == "session/prompt" {
				open.takeBack()
			}
		}
		w.mu.Unlock()
		win.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, session))
	case "cancel one":
		if a != nil {
			w.mu.Lock()
			a.takeBack()
			w.mu.Unlock()
			win.notify("$/cancel_request", `{"requestId":`+a.id+`}`)
		}
	case "crash":
		w.mu.Lock()
		var p *worldDroid
		for _, one := range w.droids {
			select {
			case <-one.client.Exited():
			default:
				if one.win == win {
					p = one
				}
			}
		}
		if p != nil {
			p.crashed = true
		}
		w.mu.Unlock()
		if p != nil {
			p.kill()
		}
	case "disk":
		w.mu.Lock()
		w.slow = time.Now().Add(time.Duration(s.n) * 20 * time.Millisecond)
		w.mu.Unlock()
	case "mute":
		w.mu.Lock()
		muted := win.muted
		win.muted, win.late = true, true
		w.mu.Unlock()
		if !muted {
			win.out.pause()
			time.AfterFunc(time.Duration(s.n)*20*time.Millisecond, func() {
				w.mu.Lock()
				win.muted = false
				w.mu.Unlock()
				win.out.resume()
			})
		}
	}
}

// takeBack records that the user cancels a request: the mode that it would set is no longer wanted.
func (a *request) takeBack() {
	if a.mode == nil || a.answered {
		return
	}
	a.mode.mode = stream.ModeAutoHigh
	for _, later := range a.win.w.asks[a.n:] {
		later.bound = stream.ModeAutoHigh
	}
}

// answers has the user of a window answer the question that came first.
func (win *window) answers(n int) {
	w := win.w
	w.mu.Lock()
	w.hearNow()
	if len(win.order) == 0 {
		w.mu.Unlock()
		return
	}
	id := win.order[0]
	q := win.asked[id]
	win.forget(id)
	w.mu.Unlock()
	outcome := `{"outcome":"cancelled"}`
	if i := n % (len(q.options) + 1); i < len(q.options) && !strings.Contains(q.options[i], "always") {
		outcome = fmt.Sprintf(`{"outcome":"selected","optionId":%q}`, q.options[i])
		w.mu.Lock()
		switch {
		case q.options[i] == "trust":
			w.trust("yes")
		case strings.HasPrefix(q.options[i], "proceed"):
			w.allowed++
		}
		w.mu.Unlock()
	}
	win.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":%s}}`, id, outcome))
}

// prompts sends a message, in which %d becomes the number of the request.
func (win *window) prompts(method, session, text string) *request {
	win.w.mu.Lock()
	text = fmt.Sprintf(text, len(win.w.asks))
	win.w.mu.Unlock()
	return win.does(method, session, `"prompt":[{"type":"text","text":`+quoted(text)+`}]`, nil)
}

// commands sends a command of this agent.
func (win *window) commands(session, text string, mode *modeAsked) *request {
	w := win.w
	if text == "/trust yes" {
		w.mu.Lock()
		w.trust("yes")
		w.mu.Unlock()
	}
	return win.says("session/prompt", session, `"prompt":[{"type":"text","text":`+quoted(text)+`}]`, mode, text)
}
