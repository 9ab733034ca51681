package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// SilentError means that the server sends nothing any more, not even the answer to a ping, while the connection has not ended.
type SilentError struct{}

func (*SilentError) Error() string {
	return fmt.Sprintf("nothing has come for %v, nor the answer to a ping", keepAlive+pongLimit)
}

// ConnectError explains why a server elsewhere was not reached, and what to do.
type ConnectError struct{ text string }

func (e *ConnectError) Error() string { return e.text }

// DialFar connects to the endpoint of a server elsewhere, such as "wss://host/acp", whose certificate roots must certify; nil stands for the
// system's authorities. ctx bounds the handshake only. The error is a *ConnectError if it is known what to do.
func DialFar(ctx context.Context, endpoint, token string, roots *x509.CertPool) (*Conn, error) {
	return dialFar(ctx, endpoint, token, &http.Transport{
		DialContext: new(net.Dialer).DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	})
}

func dialFar(ctx context.Context, endpoint, token string, way *http.Transport) (*Conn, error) {
	w := new(watch)
	dial := way.DialContext
	way.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &watchedConn{conn, w}, nil
	}
	conn, response, err := handshake(ctx, way, endpoint, token)
	if err != nil {
		return nil, explain(endpoint, response, err)
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx)) // until Close
	conn.watched = w
	go w.run(ctx, conn)
	return conn, nil
}

// maxAnswer limits the size of an answer to Ask, in bytes.
const maxAnswer = 16 << 20

// Ask sends a request for one of AdminPaths to the server that has an endpoint, and returns its answer; path takes the place of the last
// element of the endpoint's. Otherwise it is like DialFar.
func Ask(ctx context.Context, endpoint, token string, roots *x509.CertPool, method, path string) ([]byte, error) {
	base := strings.Replace(endpoint[:strings.LastIndexByte(endpoint, '/')], "ws", "http", 1) // http or https
	request, err := http.NewRequestWithContext(ctx, method, base+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", authorizationFor+token)
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it would get the token
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, explain(endpoint, nil, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	case http.StatusConflict, http.StatusForbidden:
		said, _ := io.ReadAll(io.LimitReader(response.Body, 1024)) // what can be read explains more than the status
		return nil, errors.New(strings.TrimSpace(string(said)))
	}
	return nil, explain(endpoint, response, nil)
}

// explain returns the error of a request in words. response is the server's answer, nil if there was none.
func explain(endpoint string, response *http.Response, err error) error {
	host := endpoint
	if u, bad := url.Parse(endpoint); bad == nil {
		host = u.Hostname()
	}
	text := ""
	switch {
	case response != nil && response.StatusCode == http.StatusUnauthorized:
		text = fmt.Sprintf("The server at %s does not accept the token. Put a token that its --token-file has into the file that --token-file names here.", endpoint)
	case response != nil && response.StatusCode == http.StatusForbidden:
		text = fmt.Sprintf("The server at %s does not go by the name in the address. Use the address that it printed when it started, or start it with --host %s.", endpoint, host)
	case response != nil && (response.StatusCode >= http.StatusInternalServerError || response.StatusCode == http.StatusTooManyRequests):
		said, _ := io.ReadAll(io.LimitReader(response.Body, 1024)) // what can be read explains more than the status
		text = strings.TrimSpace(fmt.Sprintf("The server at %s cannot take the connection now (%s). Try again later. %s", endpoint, response.Status, said))
	case response != nil && response.StatusCode != http.StatusSwitchingProtocols:
		text = fmt.Sprintf("What answers at %s is not droid-acp serve (%s). Correct the address; its path is %s unless a proxy changes it.", endpoint, response.Status, Path)
	default:
		text = explainLink(endpoint, host, err)
	}
	if text == "" {
		return fmt.Errorf("connecting to %s: %w", endpoint, err)
	}
	return &ConnectError{text}
}

// explainLink explains an error that came before the server's answer. It returns "" for one that it does not know.
func explainLink(endpoint, host string, err error) string {
	var (
		name    x509.HostnameError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		dns     *net.DNSError
		record  tls.RecordHeaderError
		timeout net.Error
	)
	switch {
	case errors.As(err, &name):
		return fmt.Sprintf("The certificate of the server at %s is not for %s. Use a name that the certificate has, or give the server one for this name.", endpoint, host)
	case errors.As(err, &unknown):
		return fmt.Sprintf("The certificate of the server at %s is of an authority that this machine does not trust. If it is yours, give it with --ca-file.", endpoint)
	case errors.As(err, &invalid):
		return fmt.Sprintf("The certificate of the server at %s is not valid (%v). Give the server another one, or correct the clock of this machine.", endpoint, invalid)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Sprintf("The server at %s does not speak TLS. Start it with --tls-cert and --tls-key, or correct the port.", endpoint)
	case errors.As(err, &dns):
		return fmt.Sprintf("The name %s was not found (%v). Correct the address, or see to the network of this machine.", host, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("Nothing listens at %s. Start the server there, or correct the port.", endpoint)
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return fmt.Sprintf("There is no route to %s. See to the network, or the VPN, of this machine.", host)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("The server at %s did not answer in time. See whether the machine runs, and whether a firewall drops the connection.", endpoint)
	}
	return ""
}

// watch notices that a connection has gone silent. The end of a link in between is reported by neither system.
type watch struct {
	moved   atomic.Int64 // reads, and pieces of messages written
	reading atomic.Bool  // Conn.Read is being called; otherwise no pong is received
	writing atomic.Int32 // calls of Conn.Write; a ping waits behind them
	silent  atomic.Bool
	stop    context.CancelFunc
}

// watchedConn counts what is received and sent.
type watchedConn struct {
	net.Conn
	watch *watch
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.watch.moved.Add(1)
	}
	return n, err
}

func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if n > 0 && c.watch.writing.Load() > 0 { // and no ping of ours
		c.watch.moved.Add(1)
	}
	return n, err
}

// run pings a server if nothing was received or sent for keepAlive, and ends the connection if nothing is for pongLimit after that.
func (w *watch) run(ctx context.Context, c *Conn) {
	every := time.NewTicker(keepAlive)
	defer every.Stop()
	for before := int64(-1); ; {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		now := w.moved.Load()
		if !w.reading.Load() {
			now = -1
		} else if now == before && !w.answers(ctx, c, before) && w.moved.Load() == before && w.reading.Load() && ctx.Err() == nil {
			w.silent.Store(true)
			_ = c.conn.CloseNow() // Read reports it
			return
		}
		before = now
	}
}

// answers reports whether the server answers a ping, or takes more of the message that is being written, in time. During a write it gets no
// ping: the websocket package would give up a connection on which the ping itself has to wait.
func (w *watch) answers(ctx context.Context, c *Conn, before int64) bool {
	ctx, cancel := context.WithTimeout(ctx, pongLimit)
	defer cancel()
	if w.writing.Load() > 0 {
		<-ctx.Done()
		return w.moved.Load() != before
	}
	return c.conn.Ping(ctx) == nil
}
