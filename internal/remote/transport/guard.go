package transport

import (
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/remote/serve"
)

// Subprotocols of WebSocket. A page cannot set headers, so it offers the second one with the token appended; the server answers with the
// first.
const (
	subprotocol      = "acp"
	bearerProtocol   = "bearer."
	authorizationFor = "Bearer "
)

// httpError is the answer to a refused request: a status, and a sentence that says what to do.
type httpError struct {
	status int
	text   string
}

// reason returns the text without what to do.
func (f *httpError) reason() string {
	reason, _, _ := strings.Cut(strings.TrimSuffix(f.text, "."), "; ")
	return reason
}

func fail(status int, text string) *httpError { return &httpError{status, text} }

// write also bounds how long net/http reads the rest of the body, which it does so that the client gets the answer.
func (f *httpError) write(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refuseLimit))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(f.status)
	_, _ = w.Write([]byte(f.text + "\n")) // a client that does not read it has gone
}

const wrongToken = "The token is missing or wrong; send it as Authorization: Bearer TOKEN, or from a page as the WebSocket subprotocols \"acp\" and \"bearer.TOKEN\"."

// admission is the token and the role of an admitted client.
type admission struct {
	token Token
	role  serve.Role // of the ticket if there is one, otherwise of the token
}

// admit decides whether a request may be handled at all, and by which token. It refuses requests of foreign pages: a Host that is not ours,
// since the page's own name may resolve to this host (DNS rebinding), and an unknown origin.
func (h *Handler) admit(r *http.Request) (a admission, f *httpError) {
	if !h.isOurs(r.Host) {
		return a, fail(http.StatusForbidden, "This server does not go by the name that the Host header has; use one of its own addresses, or start it with --host and that name.")
	}
	for _, o := range r.Header.Values("Origin") {
		if !slices.ContainsFunc(h.o.Origins, func(known string) bool { return strings.EqualFold(known, o) }) {
			return a, fail(http.StatusForbidden, "Pages of this origin may not connect; start the server with --origin and the page's origin to allow it.")
		}
	}
	h.mu.Lock()
	tokens := h.tokens
	h.mu.Unlock()
	if tokens == nil {
		return a, nil
	}
	given, ok := givenToken(r)
	known := false
	for _, t := range tokens {
		if ok && subtle.ConstantTimeCompare([]byte(given), []byte(t.Secret)) == 1 {
			a, known = admission{t, t.Role}, true
		}
	}
	switch {
	case known:
		return a, nil
	case ok && isUpgrade(r) && r.URL.Path == Path:
		return h.useTicket(given)
	}
	return a, fail(http.StatusUnauthorized, wrongToken)
}

func (h *Handler) isOurs(host string) bool {
	if h.o.Hosts == nil {
		return true
	}
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	name = strings.Trim(name, "[]")
	return slices.ContainsFunc(h.o.Hosts, func(known string) bool {
		return strings.EqualFold(known, host) || strings.EqualFold(strings.Trim(known, "[]"), name)
	})
}

// givenToken returns the token in the header, or in the subprotocols that a WebSocket offers.
func givenToken(r *http.Request) (given string, ok bool) {
	given, ok = strings.CutPrefix(r.Header.Get("Authorization"), authorizationFor)
	if !ok && isUpgrade(r) {
		offers := protocols(r)
		if !slices.Contains(offers, subprotocol) {
			return "", false // the answer must not repeat the token
		}
		for _, offer := range offers {
			if token, is := strings.CutPrefix(offer, bearerProtocol); is {
				given, ok = token, true
			}
		}
	}
	return given, ok
}

func protocols(r *http.Request) (offers []string) {
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for offer := range strings.SplitSeq(line, ",") {
			offers = append(offers, strings.TrimSpace(offer))
		}
	}
	return offers
}

func isUpgrade(r *http.Request) bool {
	return strings.EqualFold(strings.TrimSpace(r.Header.Get("Upgrade")), "websocket")
}
