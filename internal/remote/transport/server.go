package transport

import (
	"crypto/tls"
	"net/http"
	"time"
)

// Server is an HTTP server for a handler: HTTP/1.1 alone, which a WebSocket begins with,
// also without TLS, which is for a loopback address or a socket only. Headers must come within
// ten seconds; of what comes after them a Handler bounds the time itself.
func Server(h http.Handler, config *tls.Config) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: h, TLSConfig: config, Protocols: &protocols,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}
