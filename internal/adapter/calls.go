package adapter

// callQueue runs some calls to droid one after the other: changes of settings, loads
// and forks. They must not overlap, since the answer to a load tells the settings,
// too. While one is under way, no prompt begins, and the process is neither parked nor
// replaced by a load.
type callQueue struct {
	calls []func(end func())  // the first one runs
	post  func(f func()) bool // leaves work for the session's owner
	work  func()              // is called when the first one is about to run
	idle  func()              // is called when the last one has ended
}

// newCallQueue makes a queue whose owner takes work by post. work and idle run in the
// owner, one as often as the other.
func newCallQueue(post func(f func()) bool, work, idle func()) callQueue {
	return callQueue{post: post, work: work, idle: idle}
}

// add runs f when those before it have ended. f calls end when it has.
func (q *callQueue) add(f func(end func())) {
	q.calls = append(q.calls, f)
	if len(q.calls) == 1 {
		q.work()
		q.runFirst()
	}
}

// busy reports whether a call is under way.
func (q *callQueue) busy() bool { return len(q.calls) > 0 }

// runFirst runs the first call. Only the first call of end counts. A panic ends the
// call, too, and goes on to the caller.
func (q *callQueue) runFirst() {
	ended := false
	end := func() {
		if ended {
			return
		}
		ended = true
		if q.calls = q.calls[1:]; len(q.calls) > 0 {
			q.runFirst()
			return
		}
		q.idle()
	}
	defer func() {
		if p := recover(); p != nil {
			q.post(end)
			panic(p)
		}
	}()
	q.calls[0](end)
}
