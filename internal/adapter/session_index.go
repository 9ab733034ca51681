package adapter

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/jsonrpc"
)

// indexMethods returns the methods of Air's session index. Other clients have none of them.
func (a *Agent) indexMethods() map[string]wire.Handler {
	return map[string]wire.Handler{
		"_session/archive":          a.ifIndexed(a.archiveSession),
		"_session/unarchive":        a.ifIndexed(a.unarchiveSession),
		"_session/rename":           a.ifIndexed(a.setTitle),
		protocol.AirBatchGet:        a.ifIndexed(a.batchGet),
		protocol.AirListSubscribe:   a.ifIndexed(a.subscribeList),
		protocol.AirListUnsubscribe: a.ifIndexed(a.unsubscribeList),
	}
}

func (a *Agent) ifIndexed(handler wire.Handler) wire.Handler {
	return func(c *wire.Call) (any, *jsonrpc.Error) {
		if !a.Client.SessionIndex {
			return nil, methodNotFound(c.Method)
		}
		return handler(c)
	}
}

// maxIndexPage is the most rows of a page for a client with an index.
const maxIndexPage = 100

// archiveFilters are the filters by their names in the index.
var archiveFilters = map[string]store.ArchiveFilter{"unarchived": store.ExcludeArchived, "archived": store.OnlyArchived, "all": store.IncludeArchived}

// indexQuery adds the params that a client with an index sends in the _meta of session/list to a query. It does not look for worktrees.
func indexQuery(q *store.Query, meta json.RawMessage) *jsonrpc.Error {
	p, err := protocol.AirListParamsIn(meta)
	q.Limit = pageSize
	switch {
	case err != nil:
		return acperr.InvalidParams("_meta.jetbrains.air.list has a value of a wrong type: limit is a number, archived a text, includeWorktrees true or false")
	case p.Limit != nil && *p.Limit < 1:
		return acperr.InvalidParams("_meta.jetbrains.air.list.limit is %d; it is a number from 1 on", *p.Limit)
	case p.Limit != nil:
		q.Limit = min(*p.Limit, maxIndexPage)
	}
	if p.Archived != nil {
		filter, known := archiveFilters[*p.Archived]
		if !known {
			return acperr.InvalidParams("_meta.jetbrains.air.list.archived is %.80q; it is unarchived, archived or all", *p.Archived)
		}
		q.Archived = filter
	}
	return nil
}

// indexMeta returns the _meta of a stored session's row, nil for a client without an index.
func (a *Agent) indexMeta(s store.Session) *protocol.OnlyAir {
	if !a.Client.SessionIndex {
		return nil
	}
	var row protocol.AirRow
	for _, id := range s.Thread {
		if open, known := a.Sessions.Find(id); known {
			row = open.AirRow()
		}
	}
	row.Archived = s.Archived
	return protocol.AirRowMeta(row)
}

// batchGet returns the rows of sessions of any project. It leaves unknown ones out.
func (a *Agent) batchGet(c *wire.Call) (any, *jsonrpc.Error) {
	var params protocol.AirBatchParams
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	for _, id := range params.SessionIDs {
		if err := checkSessionID(id); err != nil {
			return nil, err
		}
	}
	c.Async()
	page, err := a.ListStored(c.Context, everySession(""))
	if err != nil {
		return nil, notListed(err)
	}
	rows := map[string]protocol.ListedSession{}
	for _, s := range page.Sessions {
		row := a.listed(s)
		for _, id := range s.Thread {
			row.SessionID = id // by which the client knows it
			rows[id] = row
		}
	}
	result := protocol.ListResult{Sessions: []protocol.ListedSession{}}
	for _, id := range params.SessionIDs {
		if row, known := rows[id]; known {
			result.Sessions = append(result.Sessions, row)
		}
	}
	return result, nil
}

// everySession selects all sessions of a directory, "" for those of all projects.
func everySession(cwd string) store.Query {
	return store.Query{CWD: cwd, Limit: math.MaxInt, Archived: store.IncludeArchived}
}

// listSubscriptions are the lists whose changes the client wants. The zero value has none.
type listSubscriptions struct {
	mu  sync.Mutex
	all map[string]*listSubscription // by their ids
}

type listSubscription struct {
	changed chan struct{} // has an element if a row may have changed; its capacity is 1
	end     context.CancelFunc
}

const (
	maxSubscriptions = 128
	// changePause is the wait for further changes, and changeInterval the least time between two notifications of a subscription.
	changePause, changeInterval = 150 * time.Millisecond, time.Second
	// changeLook is the interval at which a subscription looks for changes by other processes.
	changeLook = 10 * time.Second
)

// add registers a subscription unless there are too many.
func (l *listSubscriptions) add(id string, s *listSubscription) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) >= maxSubscriptions {
		return false
	}
	if l.all == nil {
		l.all = map[string]*listSubscription{}
	}
	l.all[id] = s
	return true
}

// remove ends a subscription, if there is one with this id.
func (l *listSubscriptions) remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.all[id]; s != nil {
		delete(l.all, id)
		s.end()
	}
}

// changed makes all subscriptions look soon.
func (l *listSubscriptions) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

// subscribeList begins to send the changes of a directory's list, whether archived or not. The list itself is not sent.
func (a *Agent) subscribeList(c *wire.Call) (any, *jsonrpc.Error) {
	var params struct {
		CWD string `json:"cwd"`
	}
	if !a.Client.SubscribesLists() {
		return nil, methodNotFound(c.Method)
	}
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	if params.CWD == "" {
		return nil, acperr.InvalidParams("cwd is missing; it is the directory of a project")
	}
	c.Async()
	cwd, failure := a.directoryOf(c, params.CWD)
	if failure != nil {
		return nil, failure
	}
	last, err := a.rowsIn(c.Context, cwd)
	if err != nil {
		return nil, notListed(err)
	}
	id, s := uuid.NewString(), &listSubscription{changed: make(chan struct{}, 1)}
	var ctx context.Context
	ctx, s.end = context.WithCancel(a.Context)
	if !a.subscriptions.add(id, s) {
		s.end()
		return nil, acperr.InvalidParams("there are %d subscriptions, which is the most; end one by %s", maxSubscriptions, protocol.AirListUnsubscribe)
	}
	a.Respond(c, protocol.AirListSubscription{SubscriptionID: id}, nil) // before the first change
	a.Sessions.Go(func() { a.sendChanges(ctx, id, cwd, s, last) })
	return nil, nil
}

// unsubscribeList ends a subscription. One that does not exist has ended.
func (a *Agent) unsubscribeList(c *wire.Call) (any, *jsonrpc.Error) {
	var params protocol.AirListSubscription
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	a.subscriptions.remove(params.SubscriptionID)
	return struct{}{}, nil
}

// listedRow is a row with its encoding, by which changes are found.
type listedRow struct {
	protocol.ListedSession
	text string // without updatedAt
}

// rowsIn lists the sessions of a directory by their ids.
func (a *Agent) rowsIn(ctx context.Context, cwd string) (map[string]listedRow, error) {
	page, err := a.ListStored(ctx, everySession(cwd))
	rows := make(map[string]listedRow, len(page.Sessions))
	for _, s := range page.Sessions {
		row := a.listed(s)
		compared := row
		compared.UpdatedAt = ""
		text, _ := json.Marshal(compared) // texts and booleans encode
		rows[s.ID] = listedRow{row, string(text)}
	}
	return rows, err
}

// sendChanges sends the changes of a list since last until ctx ends. While the client does not read, it does not look.
func (a *Agent) sendChanges(ctx context.Context, id, cwd string, s *listSubscription, last map[string]listedRow) {
	sleep := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		case <-time.After(changeLook):
		}
		sleep(changePause)
		select {
		case <-s.changed: // it is about to look
		default:
		}
		for room := a.Conn.Full(); room != nil && ctx.Err() == nil; room = a.Conn.Full() {
			select {
			case <-room:
			case <-ctx.Done():
			}
		}
		now, err := a.rowsIn(ctx, cwd)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			a.Log.Warn("the changes of a list are not known", zap.Error(err))
		default:
			if change := difference(last, now); len(change.Sessions)+len(change.Removed) > 0 {
				change.SubscriptionID = id
				a.Notify(protocol.AirListChanges, change)
			}
			last = now
		}
		sleep(changeInterval - changePause)
	}
}

// difference returns the rows that are new or changed, and the ids of those that are gone.
func difference(before, now map[string]listedRow) protocol.AirListChange {
	change := protocol.AirListChange{Sessions: []protocol.ListedSession{}, Removed: []string{}}
	for id, row := range now {
		if was, known := before[id]; !known || was.text != row.text {
			change.Sessions = append(change.Sessions, row.ListedSession)
		}
	}
	for id := range before {
		if _, known := now[id]; !known {
			change.Removed = append(change.Removed, id)
		}
	}
	return change
}
