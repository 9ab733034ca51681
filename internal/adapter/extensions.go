package adapter

import (
	"context"
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/visible"
	"droid-acp/internal/wire"
)

// extensionParams are the params of every extension method.
type extensionParams struct {
	SessionID string `json:"sessionId"`
	Enabled   *bool  `json:"enabled"` // _droid/set_auto_compaction
	Path      string `json:"path"`    // _droid/export
}

// answer ends an extension method.
type answer func(result any, err *acp.RequestError)

// extensions are the methods for programs. Their shapes are in docs/rpc-parity.md.
func extensions() map[string]func(*Session, extensionParams, answer) {
	return map[string]func(*Session, extensionParams, answer){
		"_droid/state":               (*Session).stateExtension,
		"_droid/stats":               (*Session).statsExtension,
		"_droid/messages":            (*Session).messagesExtension,
		"_droid/last_assistant_text": (*Session).lastTextExtension,
		"_droid/rewind_points":       (*Session).rewindPointsExtension,
		"_droid/commands":            (*Session).commandsExtension,
		"_droid/models":              (*Session).modelsExtension,
		"_droid/set_auto_compaction": (*Session).autoCompactionExtension,
		"_droid/export":              (*Session).exportExtension,
	}
}

// extension serves one of them.
func (a *Agent) extension(f func(*Session, extensionParams, answer)) wire.Handler {
	return func(c *wire.Call) (any, *acp.RequestError) {
		var p extensionParams
		if err := decode(c.Params, &p); err != nil {
			return nil, err
		}
		s, err := a.session(p.SessionID)
		if err != nil {
			return nil, err
		}
		return askOwner(s.owner, inquiry[any]{
			ordered:   c.Ordered,
			work:      func(done func(any, *acp.RequestError)) { f(s, p, done) },
			ctx:       c.Context,
			cancelled: refuseWhenCancelled[any],
		})
	}
}

func (s *Session) stateExtension(_ extensionParams, done answer) {
	protocol := ""
	if s.client != nil {
		protocol = s.client.Version().String()
	}
	done(map[string]any{
		"sessionId": s.id, "droidSessionId": s.droidID, "cwd": s.cwd, "title": visible.Line(s.title), "protocolVersion": protocol,
		"model": text(s.options.settings.ModelID), "reasoningEffort": text(s.options.settings.ReasoningEffort), "mode": s.options.mode(),
		"followUp": s.options.followUp, "isRunning": s.works(), "isCompacting": s.show.Compacting(),
		"waitingPrompts": s.prompts.machine.Waiting(), "autoCompaction": s.options.settings.AutoCompaction, "settings": s.options.settings.Raw,
	}, nil)
}

func (s *Session) statsExtension(_ extensionParams, done answer) {
	result := map[string]any{"tokens": s.usage.Total, "lastCall": s.usage.LastCall, "context": nil}
	if s.usage.told.Limit > 0 {
		result["context"] = map[string]int64{"used": s.usage.told.Used, "size": s.usage.told.Limit}
	}
	done(result, nil)
}

// history answers with what use makes of the whole conversation.
func (s *Session) history(done answer, use func(*stream.SessionInfo) any) {
	if s.busy() {
		done(nil, invalidRequest("the session works on a prompt; ask again when it has ended"))
		return
	}
	s.loadWhole(func(info *stream.SessionInfo, err *acp.RequestError) {
		if err != nil {
			done(nil, err)
			return
		}
		done(use(info), nil)
	})
}

func (s *Session) messagesExtension(_ extensionParams, done answer) {
	type message struct {
		ID      string            `json:"id"`
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	s.history(done, func(info *stream.SessionInfo) any {
		messages := []message{}
		for _, m := range info.Messages {
			out := message{m.ID, m.Role, []json.RawMessage{}}
			for _, block := range m.Content {
				out.Content = append(out.Content, block.JSON())
			}
			messages = append(messages, out)
		}
		return map[string]any{"messages": messages}
	})
}

func (s *Session) lastTextExtension(_ extensionParams, done answer) {
	s.history(done, func(info *stream.SessionInfo) any {
		id, last := "", ""
		for _, ev := range quirks.History(info.Messages) {
			if said, ok := ev.(quirks.Text); ok && !said.Thought {
				if said.MessageID != id {
					id, last = said.MessageID, ""
				}
				last += said.Text
			}
		}
		return map[string]any{"text": last}
	})
}

func (s *Session) rewindPointsExtension(_ extensionParams, done answer) {
	s.history(done, func(info *stream.SessionInfo) any {
		points := []map[string]any{}
		for i, p := range rewindPoints(info.Messages) {
			points = append(points, map[string]any{"number": i + 1, "messageId": p.messageID, "text": p.text})
		}
		return map[string]any{"points": points}
	})
}

func (s *Session) commandsExtension(_ extensionParams, done answer) {
	done(map[string]any{"commands": s.allCommands()}, nil)
}

func (s *Session) modelsExtension(_ extensionParams, done answer) {
	models := []json.RawMessage{}
	for _, m := range s.options.models {
		models = append(models, m.Raw)
	}
	done(map[string]any{"currentModelId": text(s.options.settings.ModelID), "models": models}, nil)
}

func (s *Session) autoCompactionExtension(p extensionParams, done answer) {
	if p.Enabled == nil {
		done(nil, invalidParams("enabled is missing"))
		return
	}
	s.withDroid(1, func(_ *stream.SessionInfo, err *acp.RequestError) {
		if err != nil {
			done(nil, err)
			return
		}
		s.updateSettings(stream.SettingsPatch{AutoCompaction: p.Enabled}, func(err error) {
			got := s.options.settings.AutoCompaction
			switch {
			case err != nil:
				done(nil, settingError("auto_compaction", "automatic compaction", err))
			case got == nil || *got != *p.Enabled:
				done(nil, internalError("auto_compaction_ignored", "droid took the request and did not change it."+s.lacking(stream.SwitchesAutoCompaction)))
			default:
				done(map[string]any{"enabled": *got}, nil)
			}
		})
	})
}

// lacking tells that the session's droid does not do what the fact says, "" when it
// does or when no process runs.
func (s *Session) lacking(f stream.Fact) string {
	if s.client == nil || s.client.Version().Has(f) {
		return ""
	}
	return " " + s.client.Version().Lacks(f)
}

func (s *Session) exportExtension(p extensionParams, done answer) {
	if s.busy() {
		done(nil, invalidRequest("the session works on a prompt; export it when that has ended"))
		return
	}
	s.loadWhole(func(info *stream.SessionInfo, err *acp.RequestError) {
		if err != nil {
			done(nil, err)
			return
		}
		session, cwd := s.droidID, s.cwd
		s.do(func(context.Context) {
			path, err := exportTo(info, session, cwd, p.Path)
			if err != nil {
				done(nil, internalError("export_failed", "the conversation was not exported: "+err.Error()))
				return
			}
			done(map[string]any{"path": path}, nil)
		})
	})
}
