package adapter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
	"droid-acp/internal/store"
)

func (s *Session) helpCommand(t *turn, _ string) {
	var b strings.Builder
	for _, c := range s.allCommands() {
		hint := ""
		if c.Input != nil {
			hint = " " + c.Input.Hint
		}
		fmt.Fprintf(&b, "- `/%s%s`: %s\n", c.Name, hint, c.Description)
	}
	s.reply(t, b.String())
}

func (s *Session) statusCommand(t *turn, _ string) {
	path, err := s.agent.cfg.Locate()
	if err != nil {
		path = err.Error()
	}
	protocol := "no process runs; the next prompt starts one"
	if s.client != nil {
		protocol = "protocol " + s.client.Version().String()
	}
	s.reply(t, fmt.Sprintf("- droid-acp %s, %s/%s, %s\n- droid: %s, %s\n- session %s\n- droid's session %s\n- directory %s\n- model %s, effort %s, mode %s, follow-ups: %s\n",
		s.agent.cfg.Version, runtime.GOOS, runtime.GOARCH, runtime.Version(), path, protocol, s.id, s.droidID, s.cwd,
		text(s.settings.ModelID), text(s.settings.ReasoningEffort), s.settings.Mode(), s.followUpMode()))
}

// optionCommand shows or sets a config option, for clients without pickers.
func optionCommand(id string) func(*Session, *turn, string) {
	return func(s *Session, t *turn, value string) {
		if value == "" {
			s.reply(t, s.describeOption(id))
			return
		}
		s.setOption(id, value, func(err *acp.RequestError) {
			if err != nil {
				s.reply(t, strings.TrimPrefix(err.Message, "Invalid params: ")+".")
				return
			}
			s.reply(t, "It is "+value+" now.")
		})
	}
}

func (s *Session) describeOption(id string) string {
	for _, o := range s.configOptions() {
		if o.ID != id {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s: %s. The values are:\n", o.Name, o.CurrentValue)
		for _, v := range o.Options {
			fmt.Fprintf(&b, "- `%s`: %s\n", v.Value, v.Name)
		}
		return b.String()
	}
	return "The model in use gives no choice here."
}

func (s *Session) renameCommand(t *turn, title string) {
	if title == "" {
		s.reply(t, "Say the title, too: `/rename My title`.")
		return
	}
	s.askDroid(t, "The session was not renamed", func(ctx context.Context, client *droid.Client) (string, error) {
		if !client.Version().Features().ContextStats {
			return lacks(client.Version(), "rename a session", "0.117"), nil
		}
		if err := client.Rename(ctx, title); err != nil {
			return "", err
		}
		return "The session is called “" + title + "” now.", nil
	})
}

func (s *Session) forkCommand(t *turn, _ string) {
	s.askDroid(t, "The session was not copied", func(ctx context.Context, client *droid.Client) (string, error) {
		id, err := client.Fork(ctx)
		return "The copy is the session `" + id + "`; open it from your editor's list of sessions. This thread goes on as it is.", err
	})
}

func (s *Session) contextCommand(t *turn, _ string) {
	last := s.usage.LastCall
	s.askDroid(t, "droid did not tell", func(ctx context.Context, client *droid.Client) (string, error) {
		features := client.Version().Features()
		if !features.ContextStats {
			return lacks(client.Version(), "tell what fills the context window", "0.117") +
				fmt.Sprintf(" The last model call read %d tokens.", last.InputTokens+last.CacheReadTokens), nil
		}
		if !features.Discovery {
			stats, err := client.ContextStats(ctx)
			return fmt.Sprintf("%d of %d tokens (%s).", stats.Used, stats.Limit, stats.Accuracy), err
		}
		b, err := client.ContextBreakdown(ctx)
		var out strings.Builder
		fmt.Fprintf(&out, "%d of %d tokens are used, %d are free (%s).\n\n| | tokens |\n|---|---|\n", b.Used, b.Budget, b.Free, b.Model)
		for _, c := range b.Categories {
			fmt.Fprintf(&out, "| %s | %d |\n", c.Name, c.Tokens)
		}
		return out.String(), err
	})
}

func (s *Session) usageCommand(t *turn, _ string) {
	line := func(name string, u stream.TokenUsage) string {
		return fmt.Sprintf("| %s | %d | %d | %d | %d | %d |\n", name, u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens, u.ThinkingTokens)
	}
	s.reply(t, "Tokens of this session, as far as droid told them:\n\n| | input | output | cache read | cache written | thinking |\n|---|---|---|---|---|---|\n"+
		line("all calls", s.usage.Total)+line("last call", s.usage.LastCall))
}

func (s *Session) mcpCommand(t *turn, args string) {
	if name, ok := strings.CutPrefix(args, "login "); ok {
		s.beginLogin(t, strings.TrimSpace(name))
		return
	}
	own := serverNames(s.servers)
	s.askDroid(t, "droid did not tell its MCP servers", func(ctx context.Context, client *droid.Client) (string, error) {
		servers, err := client.MCPServers(ctx)
		if err != nil {
			return "", err
		}
		tools, err := client.MCPTools(ctx)
		var b strings.Builder
		for _, server := range servers {
			fmt.Fprintf(&b, "- %s: %s %s\n", server.Name, server.Status, server.Error)
		}
		if len(servers) == 0 {
			b.WriteString("droid has no MCP servers of its own (`droid mcp add` adds one).\n")
		}
		if len(own) > 0 && !client.TakesMCPServers() {
			fmt.Fprintf(&b, "\nFrom the editor: %s. droid does not tell their state.\n", strings.Join(own, ", "))
		}
		for _, tool := range tools {
			fmt.Fprintf(&b, "- tool %s %s\n", tool.ServerName, tool.Name)
		}
		return b.String(), err
	})
}

func (s *Session) sessionsCommand(t *turn, _ string) {
	if s.agent.cfg.Store == nil {
		s.reply(t, "There is no store of sessions.")
		return
	}
	s.do(func(ctx context.Context) {
		page, err := s.agent.cfg.Store.List(ctx, store.Query{Limit: 20})
		s.post(func() {
			if err != nil {
				s.replyError(t, "The sessions could not be listed", err)
				return
			}
			b := new(strings.Builder)
			for _, one := range page.Sessions {
				fmt.Fprintf(b, "- `%s` %s, %s, in %s\n", one.ID, one.UpdatedAt.Format("2006-01-02 15:04"), cmpOr(one.Title, "without a title"), one.CWD)
			}
			s.reply(t, cmpOr(b.String(), "There are no sessions."))
		})
	})
}

func (s *Session) compactCommand(t *turn, instructions string) {
	s.withClient(t, func(client *droid.Client) {
		s.put(s.show.BeginCompaction(show.UserAsked))
		answered, giveUp := false, t.giveUp
		t.giveUp = func() {
			giveUp()
			if !answered {
				s.endCompaction(t, client)
			}
		}
		s.do(func(context.Context) {
			ctx, cancel := context.WithTimeoutCause(t.work, compactTime, errCompactTime)
			defer cancel()
			id, removed, err := client.Compact(ctx, instructions)
			s.post(func() {
				answered = !errors.Is(err, context.DeadlineExceeded)
				if err != nil {
					s.compactFailed(t, outOfTime(ctx, err))
					return
				}
				// A process that made the summary goes on giving the model the whole old
				// conversation, also after loading the new session (0.99 to 0.225).
				s.goOn(t, id, true, func(hint string) {
					s.put(s.show.EndCompaction(show.Compacted))
					s.reply(t, fmt.Sprintf("%d messages became a summary. This thread goes on with it.", removed)+hint)
				})
			})
		})
	})
}

func (s *Session) compactFailed(t *turn, err error) {
	if s.turn != t {
		return // it was cancelled, and another compaction may run
	}
	s.put(s.show.EndCompaction(show.CompactionFailed))
	if strings.Contains(err.Error(), "No access token") {
		err = errors.New("this droid needs a Factory login to compact (" + err.Error() + "). " + strings.TrimSuffix(loginRemedy, "."))
	}
	s.replyError(t, "The conversation was not compacted", err)
}

// compactTime bounds how long droid may take to compact a conversation: one or
// several calls of the model with all of it.
const compactTime = 10 * time.Minute

var errCompactTime = errors.New("droid did not answer within 10 minutes")

// endCompaction ends a compaction that the user cancelled or that takes too long.
// droid hears no interrupt then and has the model go on (0.117 to 0.225), so the
// process ends, unless that would end something else of the user's.
func (s *Session) endCompaction(t *turn, client *droid.Client) {
	if t.cancelled {
		s.put(s.show.EndCompaction(show.CompactionCancelled))
	}
	s.put(s.show.EndCompaction(show.CompactionFailed))
	if s.client == client && !client.HasChildren() && !s.logsIn(time.Now()) {
		s.leave()
	}
}

// rewindPoint is a prompt that the user can go back to.
type rewindPoint struct{ messageID, text string }

// rewindPoints are the user's prompts in a history, oldest first.
func rewindPoints(messages []stream.Message) (points []rewindPoint) {
	for _, ev := range quirks.History(messages) {
		said, ok := ev.(quirks.UserText)
		if !ok || said.MessageID == "" {
			continue
		}
		if n := len(points); n > 0 && points[n-1].messageID == said.MessageID {
			points[n-1].text += show.UserWords(said, "")
			continue
		}
		points = append(points, rewindPoint{said.MessageID, show.UserWords(said, "")})
	}
	return points
}

func (s *Session) rewindCommand(t *turn, args string) {
	const failed = "The session was not rewound"
	s.withHistory(t, failed, func(info *stream.SessionInfo) {
		points, fields := rewindPoints(info.Messages), strings.Fields(args)
		switch {
		case len(points) == 0:
			s.reply(t, "There is nothing to go back to.")
			return
		case len(fields) == 0:
			s.reply(t, listRewindPoints(points))
			return
		}
		n, err := strconv.Atoi(fields[0])
		if err != nil || n < 1 || n > len(points) {
			s.replyError(t, failed, fmt.Errorf("%q is none of the prompts 1 to %d", fields[0], len(points)))
			return
		}
		files := len(fields) > 1 && fields[1] == "files"
		client, session := s.client, s.droidID
		s.do(func(context.Context) {
			ctx, cancel := context.WithTimeoutCause(t.work, openTime, errOpenTime)
			defer cancel()
			text, to, err := rewind(ctx, client, session, points[n-1], files)
			s.post(func() {
				if err != nil {
					s.replyError(t, failed, outOfTime(ctx, err))
					return
				}
				// As after compaction; since 0.215 the process that rewound the session can
				// go over to the new one.
				s.goOn(t, to, !client.Version().Features().Discovery, func(hint string) {
					s.reply(t, fmt.Sprintf("This thread is back to before prompt %d; ", n)+text+hint)
				})
			})
		})
	})
}

func listRewindPoints(points []rewindPoint) string {
	var b strings.Builder
	b.WriteString("`/rewind N` goes back to before prompt N, `/rewind N files` restores the files, too:\n\n")
	for i, p := range points {
		fmt.Fprintf(&b, "%d. %s\n", i+1, show.FirstLine(p.text))
	}
	return b.String()
}

// rewind goes back to before a prompt, with the files if wanted. It returns what
// became of the files, and the new session.
func rewind(ctx context.Context, client *droid.Client, session string, p rewindPoint, files bool) (text, to string, err error) {
	info, err := client.RewindInfo(ctx, session, p.messageID)
	if err != nil {
		return "", "", err
	}
	lost := len(info.Evicted)
	if !files {
		info = droid.RewindInfo{}
	}
	r, err := client.Rewind(ctx, session, p.messageID, show.FirstLine(p.text), info)
	if err != nil {
		return "", "", err
	}
	text = fmt.Sprintf("%d files were restored and %d deleted.", r.Restored, r.Deleted)
	if failed := r.FailedRestores + r.FailedDeletes; failed > 0 {
		text += fmt.Sprintf(" %d files could not be.", failed)
	}
	if lost > 0 {
		text += fmt.Sprintf(" droid no longer has the old content of %d files.", lost)
	}
	return text, r.NewSessionID, nil
}
