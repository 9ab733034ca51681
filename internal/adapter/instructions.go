package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
)

// What a client may add to droid's system prompt is bounded, so that no mistake fills
// the model's context: 256 KiB are some 60,000 tokens.
const (
	maxSystemPrompt = 256 << 10
	maxRoots        = 100
)

// instructions are what a session adds to droid's system prompt. The zero value adds
// nothing.
type instructions struct {
	text  string   // the client's words, "" for none
	roots []string // additional directories, absolute and clean
}

// wish is what the params of a request say of instructions. Each request's directories
// replace those before. The words stay when the request says nothing of them.
type wish struct {
	instructions
	words bool // the request says which words, maybe none
}

// use makes these the session's instructions. It reports whether they are others than
// before.
func (i *instructions) use(w wish) (changed bool) {
	if !w.words {
		w.text = i.text
	}
	if i.text == w.text && slices.Equal(i.roots, w.roots) {
		return false
	}
	*i = w.instructions
	return true
}

// inherit adds to a wish for a copy of this session what it does not say.
func (s *Session) inherit(w wish) wish {
	if !w.words {
		w.text, w.words = s.instructed.text, true
	}
	return w
}

// useInstructions makes these the session's instructions. If the process has others, it
// is ended; the next process loads the session.
func (s *Session) useInstructions(w wish) {
	if !s.instructed.use(w) {
		return
	}
	s.listed.roots.Store(&w.roots)
	if s.proc.client() != nil {
		s.leave()
	}
}

// listed is what a session's owner tells those who list sessions. Anybody may read it.
type listed struct {
	roots atomic.Pointer[[]string] // nil before there were any
}

// rootsOf are the additional directories of a session that is open here, nil for others.
func (a *Agent) rootsOf(id string) []string {
	if s, open := a.sessions.Find(id); open {
		if roots := s.listed.roots.Load(); roots != nil {
			return *roots
		}
	}
	return nil
}

// added is what a process is to add to the system prompt. stored is what droid adds by
// itself for the session that it opens: the same words are not said twice.
func (i instructions) added(stored string) string {
	parts := make([]string, 0, 2)
	if i.text != "" && i.text != strings.TrimSpace(stored) {
		parts = append(parts, i.text)
	}
	if len(i.roots) > 0 {
		parts = append(parts, i.workspace())
	}
	return strings.Join(parts, "\n\n")
}

// openInstructed opens a new session with instructions. Where droid stores words with a
// session it gets them that way, so that they hold whoever loads the session. An older
// one gets them with its process.
func (a *Agent) openInstructed(ctx context.Context, p sessionParams) (*droid.Client, *stream.SessionInfo, error) {
	params := droid.InitializeParams{CWD: p.CWD, Settings: a.cfg.Defaults.Settings(), SystemPrompt: p.wish.text}
	if p.wish.text == "" {
		return a.launch(ctx, p.CWD, p.servers, p.wish.added(""), openNew(params))
	}
	err := errDoesNotStore
	if a.spareMayStore(ctx) {
		var client *droid.Client
		var info *stream.SessionInfo
		client, info, err = a.launch(ctx, p.CWD, p.servers, p.wish.added(p.wish.text), openStoring(openNew(params)))
		if err == nil {
			return client, info, nil
		}
	}
	if !errors.Is(err, errDoesNotStore) {
		return nil, nil, err
	}
	params.SystemPrompt = ""
	return a.launch(ctx, p.CWD, p.servers, p.wish.added(""), openNew(params))
}

// spareTime bounds how long the spare is asked for its version.
const spareTime = 5 * time.Second

// spareMayStore reports false when words could not be given to the spare, which then is
// left for a session without any.
func (a *Agent) spareMayStore(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, spareTime)
	defer cancel()
	version := a.spare.AwaitVersion(ctx)
	return version.IsZero() || version.Has(stream.StoresSystemPrompt)
}

// errDoesNotStore is why a droid was not asked to open a session.
var errDoesNotStore = errors.New("this droid does not store additions to the system prompt")

// openStoring refuses a droid that would ignore the words of a new session.
func openStoring(open opener) opener {
	return func(ctx context.Context, client *droid.Client, servers []stream.MCPServer) (*stream.SessionInfo, error) {
		if !client.AwaitVersion(ctx).Has(stream.StoresSystemPrompt) && client.ExitError() == nil && ctx.Err() == nil {
			return nil, errDoesNotStore
		}
		return open(ctx, client, servers)
	}
}

// addedTo is what a process is to add to the system prompt when it loads a stored
// session. It blocks.
func (a *Agent) addedTo(ctx context.Context, id string, i instructions) string {
	if i.text == "" {
		return i.added("")
	}
	stored, err := bounded(ctx, a, "Store.SystemPrompt", "session "+id, func(string) (string, error) { return a.cfg.Store.SystemPrompt(id) })
	if err != nil {
		a.log.Warn("it is not known what droid adds to the system prompt of a session by itself", zap.String("session", id), zap.Error(err))
	}
	return i.added(stored)
}

// workspace tells the model of the additional directories. Their names are in JSON, so
// that a name with line breaks or markup in it stays a name.
func (i instructions) workspace() string {
	var b strings.Builder
	b.WriteString("The user's workspace has more directories than the working directory. Each line below is the path of one, as a JSON string:\n")
	for _, root := range i.roots {
		name, _ := json.Marshal(root) // strings always encode
		b.WriteString("\n- ")
		b.Write(name)
	}
	b.WriteString("\n\nThey belong to the workspace as the working directory does. Search, read and change files there too where the task calls for it, by absolute path. " +
		"Relative paths and shell commands still start from the working directory.")
	return b.String()
}

// readWish reads what the params say of instructions, and checks it.
func (a *Agent) readWish(ctx context.Context, p sessionParams) (w wish, err *acp.RequestError) {
	if w.text, w.words, err = readSystemPrompt(p.SystemPrompt, p.Meta); err != nil {
		return wish{}, err
	}
	if w.roots, err = a.readRoots(ctx, p.CWD, p.AdditionalDirectories); err != nil {
		return wish{}, err
	}
	if n := len(w.added("")); n > maxSystemPrompt {
		return wish{}, invalidParams("what is to be added to the system prompt has %d bytes; it may have %d, the additional directories included", n, maxSystemPrompt)
	}
	return w, nil
}

// readRoots checks the additional directories. It drops the working directory and what
// is there twice.
func (a *Agent) readRoots(ctx context.Context, cwd string, list []string) (roots []string, err *acp.RequestError) {
	if len(list) > maxRoots {
		return nil, invalidParams("additionalDirectories has %d directories; it may have %d", len(list), maxRoots)
	}
	for n, path := range list {
		if err := a.checkDirectory(ctx, fmt.Sprintf("additionalDirectories[%d]", n), path); err != nil {
			return nil, err
		}
		path = filepath.Clean(path)
		if !samePath(path, filepath.Clean(cwd)) && !slices.ContainsFunc(roots, func(root string) bool { return samePath(root, path) }) {
			roots = append(roots, path)
		}
	}
	return roots, nil
}

// samePath compares clean paths as the system does, links aside.
func samePath(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}

// readSystemPrompt reads the words that a client adds to the system prompt: ACP's own
// systemPrompt (unstable, schema 2.4.0), else _meta.systemPrompt {append}, as other
// agents take it. said is false when the request has neither.
func readSystemPrompt(own, meta json.RawMessage) (text string, said bool, err *acp.RequestError) {
	if isSaid(own) {
		text, err = readOwnPrompt(own)
		return text, err == nil, err
	}
	var fields struct {
		SystemPrompt json.RawMessage `json:"systemPrompt"`
	}
	if json.Unmarshal(meta, &fields) != nil || !isSaid(fields.SystemPrompt) || string(fields.SystemPrompt) == `""` {
		return "", false, nil
	}
	text, err = readMetaPrompt(fields.SystemPrompt)
	return text, err == nil, err
}

func isSaid(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

func readOwnPrompt(value json.RawMessage) (string, *acp.RequestError) {
	var prompt struct {
		Mode    string `json:"mode"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(value, &prompt); err != nil {
		return "", invalidParams("systemPrompt: %v", err)
	}
	if prompt.Mode != "append" {
		return "", invalidParams("systemPrompt.mode is %q; droid keeps its own system prompt, so the one mode is \"append\"", prompt.Mode)
	}
	if len(prompt.Content) == 0 {
		return "", invalidParams("systemPrompt.content is empty; leave systemPrompt out to add nothing")
	}
	parts := make([]string, len(prompt.Content))
	for n, block := range prompt.Content {
		if block.Type != "text" {
			return "", invalidParams("systemPrompt.content[%d] is of the type %q; it can only be \"text\"", n, block.Type)
		}
		parts[n] = block.Text
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n")), nil
}

func readMetaPrompt(value json.RawMessage) (string, *acp.RequestError) {
	var prompt struct {
		Append *string `json:"append"`
	}
	if err := json.Unmarshal(value, &prompt); err != nil || prompt.Append == nil {
		return "", invalidParams("_meta.systemPrompt would replace droid's system prompt, and droid keeps its own; use {\"append\": TEXT} to add to it")
	}
	return strings.TrimSpace(*prompt.Append), nil
}
