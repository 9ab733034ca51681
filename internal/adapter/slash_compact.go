package adapter

import (
	"context"
	"errors"
	"strings"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
)

// compactTime bounds how long droid may take to compact a conversation: one or
// several calls of the model with all of it.
const compactTime = 10 * time.Minute

var errCompactTime = errors.New("droid did not answer within 10 minutes")

// compactCommand replaces the conversation by a summary, once the user has agreed: some menus run the
// command on a key that was meant for another one.
func compactCommand(r *commandRun, instructions string) {
	s := r.s
	if !r.agree(s.show.CompactQuestion(s.proc.Background()), "Not compacted", "Agreed: compact the conversation") {
		return
	}
	client := r.droid()
	if client == nil {
		return
	}
	s.update(s.show.BeginCompaction(render.CompactionRequested)...)
	r.compacts = client
	var next store.Successor
	var removed int
	var summary string
	from, wanted := s.droidID, s.show.WantsSummary()
	err := r.unlockedFor(compactTime, errCompactTime, func(ctx context.Context) error {
		next = s.agent.threads.Successor(ctx, from)
		id, n, err := client.Compact(ctx, instructions)
		if err == nil {
			next.Made(id, store.LinkCompact)
			if wanted {
				summary = s.agent.threads.Summary(ctx, id)
			}
		}
		removed = n
		return err
	})
	if err != errCompactTime {
		r.compacts = nil
	}
	if err != nil {
		compactFailed(r, err)
		return
	}
	// A process that made the summary goes on giving the model the whole old
	// conversation, also after loading the new session (0.99 to 0.225).
	if r.switchSession(next, true) {
		hint := r.arrived(next)
		s.update(s.show.EndCompactionWith(render.Compacted, render.CompactionFacts{Summary: summary})...)
		r.reply("Compacted: " + render.SummaryNote(removed) + hint)
	}
}

func compactFailed(r *commandRun, err error) {
	if r.over() {
		return // another compaction may run
	}
	switch {
	case strings.Contains(err.Error(), "Nothing to compact"): // 0.99 to 0.225
		r.s.update(r.s.show.NothingToCompact()...)
		r.done()
		return
	case strings.Contains(err.Error(), "No access token"):
		err = errors.New("this droid needs a Factory login to compact, also with a model of your own (" + plainly(err).Error() + ")." +
			r.s.proc.Lacks(stream.CompactsWithoutLogin) + " " + diagnosis.LoginRemedy())
	}
	r.s.update(r.s.show.EndCompactionWith(render.CompactionFailed, render.CompactionFacts{Error: plainly(err).Error()})...)
	r.fail("The conversation was not compacted", err)
}

// endCompaction ends a compaction that the user cancelled or that takes too long.
// droid ignores interrupts while it compacts and has the model go on (0.215,
// 0.225), so the process is ended, unless that would end something else of the user's.
func (r *commandRun) endCompaction(client *droid.Client) {
	s := r.s
	if r.cancelled() {
		s.update(s.show.EndCompaction(render.CompactionCancelled)...)
	}
	s.update(s.show.EndCompactionWith(render.CompactionFailed, render.CompactionFacts{Error: errCompactTime.Error()})...)
	if s.proc.Client() == client && !client.HasChildren() && !s.proc.SubagentsWork() && !s.servers.LogsIn(time.Now()) {
		s.endDroid(replaced, "it goes on compacting")
	}
}
