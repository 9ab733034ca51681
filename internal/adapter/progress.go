package adapter

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"droid-acp/internal/quirks"
)

// usageUpdate is usage_update (ACP v1). Tokens.
type usageUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Used          int64  `json:"used"`
	Size          int64  `json:"size"`
}

// compactionUpdate is compaction_update (unstable in ACP).
type compactionUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	CompactionID  string `json:"compactionId"`
	Status        string `json:"status"`
}

// noticeUpdate is notice (unstable in ACP).
type noticeUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Severity      string `json:"severity"`
	Title         string `json:"title"`
}

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
			s.send(usageUpdate{"usage_update", stats.Used, stats.Limit})
		})
	})
}

// retrying shows that droid repeats a model call: one message for all attempts.
func (s *Session) retrying(ev quirks.Retrying) {
	text := fmt.Sprintf("The model call failed (%s); droid tries again (attempt %d).", ev.Reason, ev.Attempt)
	if s.retryMessage == "" {
		s.retryMessage = uuid.NewString()
		s.notify("warning", strings.TrimSuffix(text, "."))
	} else {
		text = fmt.Sprintf(" Again (attempt %d).", ev.Attempt)
	}
	s.sendText(s.retryMessage, text, true)
}

// notify sends a notice to a client that shows them.
func (s *Session) notify(severity, title string) {
	if s.agent.client.notices {
		s.send(noticeUpdate{"notice", severity, title})
	}
}

// compacting shows that droid replaces the conversation by a summary, and why.
func (s *Session) compacting(why string) {
	if s.compaction != "" {
		return
	}
	s.compaction = uuid.NewString()
	if s.agent.client.compaction {
		s.send(compactionUpdate{"compaction_update", s.compaction, "in_progress"})
		return
	}
	s.sendText(s.compaction, why, true)
}

// Why droid compacts the conversation.
const (
	windowFull = "The context window is full: droid compacts the conversation."
	userAsked  = "droid compacts the conversation."
)

// compacted ends what compacting began.
func (s *Session) compacted(status, text string) {
	id := s.compaction
	if id == "" {
		return
	}
	s.compaction = ""
	if s.agent.client.compaction {
		s.send(compactionUpdate{"compaction_update", id, status})
		return
	}
	s.sendText(id, " "+text, true)
}

// progressEnded ends what a turn showed of its progress.
func (s *Session) progressEnded(cancelled bool) {
	s.retryMessage = ""
	if cancelled {
		s.compacted("cancelled", "It was cancelled.")
	}
	s.compacted("completed", "Done.")
}
