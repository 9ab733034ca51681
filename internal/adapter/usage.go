package adapter

import (
	"context"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
)

// askTime bounds how long droid may take to answer a question about itself.
const askTime = 10 * time.Second

// updateUsage reports how full the context window is, where droid tells (since 0.215). The
// response to a prompt does not wait for it, that to a load does.
func (s *Session) updateUsage() {
	s.usage.NotDue()
	if !s.proc.Has(stream.TellsContextUse) {
		return
	}
	s.mu.Go(func() {
		s.proc.Ask()
		defer s.proc.Answered()
		client, stats := s.proc.Client(), droid.ContextStats{}
		err := s.unlockedFor(s.Context, askTime, func(ctx context.Context) (err error) {
			stats, err = client.ContextStats(ctx)
			return err
		})
		if s.ended || err != nil {
			return
		}
		if update := s.usage.Fills(stats.Used, stats.Limit); update != nil {
			s.update(*update)
		}
	})
}

// UsageTable shows the tokens that the session used.
func (s *Session) UsageTable() string { return s.usage.Table() }

// ContextUse is what fills the context window. lacks says that this droid does not tell it, "" if it does.
func (s *Session) ContextUse(ctx context.Context) (use droid.ContextBreakdown, lacks string, err error) {
	err = s.askDroid(ctx, func(ctx context.Context, client *droid.Client) (err error) {
		if version := client.Version(); !version.Has(stream.TellsContextUse) {
			lacks = version.Lacks(stream.TellsContextUse)
			return nil
		}
		use, err = client.ContextBreakdown(ctx)
		return err
	})
	return use, lacks, err
}
