package adapter

import (
	"context"
	"time"

	"droid-acp/internal/protocol"
)

// askTime bounds how long droid may take to answer a question about itself.
const askTime = 10 * time.Second

// tellUsage reports how full the context window is, where droid tells (since
// 0.117). It follows the turn and does not hold up its response.
func (s *Session) tellUsage() {
	if s.client == nil || !s.client.Version().Features().ContextStats {
		return
	}
	client := s.client
	s.do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		stats, err := client.ContextStats(ctx)
		if err != nil || stats.Limit <= 0 || stats.Used < 0 {
			return // no size is better than an invented one
		}
		s.post(func() {
			if s.ended || s.toldUsage == stats {
				return
			}
			s.toldUsage = stats
			s.send(protocol.UsageUpdate{SessionUpdate: "usage_update", Used: stats.Used, Size: stats.Limit})
		})
	})
}
