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
