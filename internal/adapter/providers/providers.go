// Package providers keeps the gateway to models that the client of an agent has set (ACP's providers/*), in this process alone.
package providers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/gateway"
	"droid-acp/internal/droid/stream"
)

// Provider is the provider of an agent, at first one that is not set. Its methods may be called from any goroutine.
type Provider struct {
	// List asks a gateway for its models, see gateway.Gateway.Models.
	List func(*gateway.Gateway, context.Context) (gateway.List, error)

	mu     sync.Mutex
	last   <-chan struct{} // closed when the latest change has ended; nil before the first
	set    *gateway.Gateway
	models []droid.CustomModel
	notice string // why the gateway has no models
}

// Change is a change of the provider. Changes happen in the order of their Begin.
type Change struct {
	p      *Provider
	before <-chan struct{}
	end    func()
}

// Begin begins a change. Await waits for its end.
func (p *Provider) Begin() *Change {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := make(chan struct{})
	c := &Change{p, p.last, sync.OnceFunc(func() { close(ended) })}
	p.last = ended
	return c
}

// End ends the change. Further calls have no effect.
func (c *Change) End() { c.end() }

// await waits for the changes before.
func (c *Change) await(ctx context.Context) error {
	if c.before == nil {
		return nil
	}
	select {
	case <-c.before:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Set has the gateway list its models and sets it. It blocks for some seconds. changed reports whether droids that start now get other
// models or keys than before; notice tells the user why there are no models. On an error nothing has changed.
func (c *Change) Set(ctx context.Context, g *gateway.Gateway) (changed bool, notice string, err error) {
	if err := c.await(ctx); err != nil {
		return false, "", err
	}
	list, err := c.p.List(g, ctx)
	if none, ok := errors.AsType[*gateway.NoListError](err); ok {
		notice, err = none.Error(), nil
	}
	if err != nil {
		return false, "", err
	}
	if notice == "" && len(list.Names) == 0 {
		notice = fmt.Sprintf("The gateway at %s lists no models, so none of it can be offered.", g.Host())
	}
	return c.replace(g, g.CustomModels(list), notice), notice, nil
}

// Disable makes the provider one that is not set. was reports whether it was set before.
func (c *Change) Disable(ctx context.Context) (was, changed bool, err error) {
	if err := c.await(ctx); err != nil {
		return false, false, err
	}
	was = c.p.Info().Current != nil
	return was, c.replace(nil, nil, ""), nil
}

// replace reports whether droids that start now get other models than before.
func (c *Change) replace(g *gateway.Gateway, models []droid.CustomModel, notice string) (changed bool) {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	changed = len(p.models) != len(models) || len(models) > 0 && !p.set.Equal(g)
	for i := range models {
		changed = changed || p.models[i].ID != models[i].ID || p.models[i].BaseURL != models[i].BaseURL
	}
	p.set, p.models, p.notice = g, models, notice
	return changed
}

// Await waits for changes that have begun, for some seconds at most.
func (p *Provider) Await() {
	p.mu.Lock()
	last := p.last
	p.mu.Unlock()
	if last != nil {
		<-last
	}
}

// Models returns the models that a droid gets which starts now.
func (p *Provider) Models() []droid.CustomModel {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.models
}

// Info describes the provider for providers/list.
func (p *Provider) Info() protocol.ProviderInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	info := protocol.ProviderInfo{ProviderID: gateway.ProviderID, Supported: gateway.APITypes()}
	if p.set != nil {
		info.Current = &protocol.ProviderCurrent{APIType: p.set.APIType, BaseURL: p.set.BaseURL}
	}
	return info
}

// Account describes the login at the gateway, the zero value while it offers no models. needed reports whether it has keys.
func (p *Provider) Account() (account protocol.AuthAccount, needed, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.models) == 0 {
		return account, false, false
	}
	return protocol.AuthAccount{Label: protocol.Line(p.set.String()), Active: true}, p.set.HasKeys(), true
}

// Offered returns the models of a session, of which list has those that droid has reported, as they are with the provider of now: a droid
// that starts would report them.
func (p *Provider) Offered(list []stream.Model) (offered []stream.Model) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.models {
		offered = append(offered, stream.Model{ID: m.ID, DisplayName: m.DisplayName, Provider: m.Provider, IsCustom: true})
	}
	for _, m := range list {
		if _, own := gateway.Provides(m.ID); !own {
			offered = append(offered, m)
		}
	}
	return offered
}

// mostNamed limits the models that Missing names.
const mostNamed = 5

// Missing tells the user that a session's model is one of the provider's which is not there, and which are among the models that droid
// offers; "" if it is no such model, or there.
func (p *Provider) Missing(modelID string, offered []stream.Model) string {
	name, ok := gateway.Provides(modelID)
	if !ok {
		return ""
	}
	var others []string
	for _, m := range offered {
		if m.ID == modelID {
			return ""
		}
		if m.IsCustom && len(others) < mostNamed {
			others = append(others, "`"+m.ID+"`")
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	why := "which the editor has not set. Set the provider in the editor (`providers/set`), or choose another model with `/model`"
	if p.set != nil {
		why = fmt.Sprintf("whose gateway at %s does not list it. Choose another model with `/model`", p.set.Host())
	}
	text := fmt.Sprintf("The model %q of this session is one of the provider %q, %s", name, gateway.ProviderID, why)
	if len(others) > 0 {
		text += ", which also lists " + strings.Join(others, ", ")
	}
	return text + "."
}

// Notices tell the user why the gateway has no models.
func (p *Provider) Notices() (notices []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.notice != "" {
		notices = append(notices, p.notice)
	}
	return notices
}
