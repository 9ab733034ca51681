package transport

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"droid-acp/internal/remote/serve"
)

// ticketPath answers a POST with an access ticket: a page presents it in place of a token, for one WebSocket.
const ticketPath = Path + "/ticket"

const (
	ticketTime = time.Minute
	maxTickets = 256 // per handler, that have not expired
)

// accessTicket admits one WebSocket. The handler's lock guards it.
type accessTicket struct {
	admission
	expires time.Time
	used    bool
}

// giveTicket answers with a ticket for the role that the request names, or for that of its token.
func (h *Handler) giveTicket(w http.ResponseWriter, r *http.Request, a admission) *httpError {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return fail(http.StatusMethodNotAllowed, "A ticket is asked for by POST.")
	}
	if name := r.URL.Query().Get("role"); name != "" {
		role, ok := serve.ParseRole(name)
		if !ok {
			return fail(http.StatusBadRequest, "There is no such role; the roles are full, answer, prompt and watch, also with a comma between them.")
		}
		if !a.role.Includes(role) {
			return fail(http.StatusForbidden, "The token does not have the role that the ticket would have; ask for one that it has.")
		}
		a.role = role
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	secret := hex.EncodeToString(random)
	if !h.addTicket(secret, accessTicket{admission: a, expires: time.Now().Add(ticketTime)}) {
		return fail(http.StatusTooManyRequests, "Too many tickets wait to be used; try again in a minute.")
	}
	h.o.Log.Info("gave a ticket", h.logFields(r, a)...)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(struct { // a client that does not read it has gone
		Ticket    string `json:"ticket"`
		Role      string `json:"role"`
		ExpiresIn int    `json:"expiresIn"`
	}{secret, a.role.String(), int(ticketTime.Seconds())})
	return nil
}

// addTicket reports whether there was room for a ticket.
func (h *Handler) addTicket(secret string, t accessTicket) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.tickets, func(_ [sha256.Size]byte, t *accessTicket) bool { return time.Now().After(t.expires) })
	if len(h.tickets) >= maxTickets {
		return false
	}
	h.tickets[sha256.Sum256([]byte(secret))] = &t
	return true
}

// useTicket admits a WebSocket by a ticket. It is refused the second time, and once its token is revoked.
func (h *Handler) useTicket(secret string) (a admission, f *httpError) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tickets[sha256.Sum256([]byte(secret))]
	switch {
	case t == nil:
		return a, fail(http.StatusUnauthorized, wrongToken)
	case time.Now().After(t.expires):
		return t.admission, fail(http.StatusUnauthorized, "The ticket has expired; ask for another one.")
	case t.used:
		return t.admission, fail(http.StatusUnauthorized, "The ticket was used before; ask for another one.")
	}
	t.used = true
	return t.admission, nil
}
