package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/visible"
)

// Limits of a gateway's list of models.
const (
	listTime  = 10 * time.Second // for all requests
	maxPages  = 20
	maxBytes  = 4 << 20 // of all pages
	maxModels = 500
	maxName   = 200 // bytes of a model's name
)

// List is a gateway's list of models.
type List struct {
	Names []string // unique, in the gateway's order
	base  string   // the URL below which the API is
}

// NoListError means that the gateway has no list, or refuses the credentials: it answered with 4xx, except where that is only for now, or with
// something else than a list.
type NoListError struct {
	Status int
	host   string
}

// Error says what the user can do.
func (e *NoListError) Error() string {
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
		return fmt.Sprintf("The gateway at %s refused the credentials of the editor (HTTP %d), so its models are not known. Renew them in the editor, then set the provider again.", e.host, e.Status)
	}
	return fmt.Sprintf("The gateway at %s has no list of models (HTTP %d at /v1/models and /models), so none of it can be offered. Check the address in the editor, "+
		"or name a model of it as customModels in ~/.factory/settings.json.", e.host, e.Status)
}

// Models asks the gateway for its models: below the base URL at /v1/models, then at /models; what answers tells where the API is. The error
// is a *NoListError if the gateway has neither. No redirect to another host is followed.
func (g *Gateway) Models(ctx context.Context) (List, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	client, err := newClient()
	if err != nil {
		return List{}, err
	}
	defer client.CloseIdleConnections()
	root := strings.TrimRight(g.BaseURL, "/")
	bases := []string{root + "/v1", root}
	if strings.HasSuffix(root, "/v1") {
		bases = []string{root, root + "/v1"}
	}
	var refused *NoListError
	for _, base := range bases {
		names, err := g.list(ctx, client, base)
		if err == nil {
			return List{names, base}, nil
		}
		if other := (*NoListError)(nil); !errors.As(err, &other) {
			return List{}, err
		} else if refused == nil || refused.Status == http.StatusNotFound {
			refused = other
		}
	}
	return List{}, refused
}

// list reads all pages of a list.
func (g *Gateway) list(ctx context.Context, client *http.Client, base string) (names []string, err error) {
	left, after := int64(maxBytes), ""
	for range maxPages {
		var p page
		if left, err = g.page(ctx, client, base, after, left, &p); err != nil {
			return nil, err
		}
		for _, m := range p.Data {
			if isName(m.ID) && !slices.Contains(names, m.ID) && len(names) < maxModels {
				names = append(names, m.ID)
			}
		}
		if !p.HasMore || p.LastID == "" || p.LastID == after {
			break
		}
		after = p.LastID
	}
	return names, nil
}

// page is a page of models as OpenAI (one page) and Anthropic list them.
type page struct {
	Data    []struct{ ID string } `json:"data"`
	HasMore bool                  `json:"has_more"`
	LastID  string                `json:"last_id"`
}

// isName reports whether droid can be given the name of a model. It would replace "${NAME}" by a variable.
func isName(name string) bool {
	return name != "" && len(name) <= maxName && visible.Line(name) == name && !strings.Contains(name, "${") && strings.TrimSpace(name) == name
}

// page reads the page behind a model, of left bytes at most. It returns how many are left.
func (g *Gateway) page(ctx context.Context, client *http.Client, base, after string, left int64, into *page) (int64, error) {
	address := base + "/models"
	if after != "" {
		address += "?after_id=" + url.QueryEscape(after)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, g.unusable(err)
	}
	for name, value := range g.headers {
		request.Header.Set(name, value)
	}
	if g.APIType == Anthropic && request.Header.Get("Anthropic-Version") == "" {
		request.Header.Set("Anthropic-Version", "2023-06-01")
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, g.unusable(err)
	}
	defer response.Body.Close()
	switch status := response.StatusCode; {
	case status == http.StatusOK:
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests:
		return 0, &NoListError{status, g.Host()}
	default:
		return 0, g.unusable(fmt.Errorf("it answered with HTTP %d", status))
	}
	body := &io.LimitedReader{R: response.Body, N: left}
	if err := json.NewDecoder(body).Decode(into); err != nil {
		if body.N <= 0 {
			err = fmt.Errorf("it is longer than %d bytes", maxBytes)
		}
		if errors.Is(err, io.EOF) || errors.As(err, new(*json.SyntaxError)) || errors.As(err, new(*json.UnmarshalTypeError)) {
			err = &NoListError{http.StatusNotFound, g.Host()} // a page for people
		}
		return 0, g.unusable(err)
	}
	if into.Data == nil { // an answer of another kind, such as an error
		return 0, &NoListError{http.StatusNotFound, g.Host()}
	}
	return body.N, nil
}

// unusable returns the error for a gateway that gives no list and no reason for it. A *NoListError stays one.
func (g *Gateway) unusable(err error) error {
	if _, ok := errors.AsType[*NoListError](err); ok {
		return err
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the method and the address
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it did not answer within %v", listTime)
	}
	return fmt.Errorf("the list of models of the gateway at %s could not be read: %s", g.Host(), visible.Line(err.Error()))
}

// newClient returns a client that uses the proxies and certificate authorities that droid uses, and follows no redirect to another host: the
// headers may be keys.
func newClient() (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: listTime, ForceAttemptHTTP2: true}
	if path := os.Getenv("NODE_EXTRA_CA_CERTS"); path != "" {
		pem, err := files.Read(path, maxBytes)
		if err != nil {
			return nil, fmt.Errorf("$NODE_EXTRA_CA_CERTS: %w", err)
		}
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if first := before[0].URL; next.URL.Host != first.Host || next.URL.Scheme != first.Scheme || next.URL.User != nil {
			return errors.New("it redirects to another host, which must not get the keys")
		}
		if len(before) >= 5 {
			return errors.New("it redirects again and again")
		}
		return nil
	}}, nil
}
