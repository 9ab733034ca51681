package editorfs

import (
	"context"
	"errors"
	"sync"
	"time"

	"droid-acp/internal/sys/child"
	"droid-acp/internal/sys/files"

	"go.uber.org/zap"
)

// Overlay is the files of the editor as one process of droid sees them: what it has read, what
// its open calls hold, and which texts the editor has not saved.
type Overlay struct {
	files  *Files
	editor Editor
	o      OverlayOptions

	mu           sync.Mutex
	closed       bool
	silent       time.Time // until when the editor is not asked for reads
	known        map[string]known
	calls        map[string]*call
	paused       map[string]map[string]time.Time // by call and resolved path, see Pause
	privateFiles map[string][]*files.Private     // with unsaved texts, by call
	stale        map[string]bool                 // files of which the editor is not asked any more, see distrust
	missed       map[string]bool                 // files of which the user was told, see miss
	untold       []string                        // what is to be told of them
}

// OverlayOptions say what the client is like.
type OverlayOptions struct {
	// KeepTimes is for a client that asks its user what to do when a file has another mtime
	// than after its own last write (Emacs with agent-shell): that mtime is left as it is, and
	// droid finds the mtime that it knows only while its edit runs. Other clients do
	// not mind, and the file gets the mtime of droid's own write.
	KeepTimes bool
}

// known is what droid knows of a file.
type known struct {
	mtime time.Time // of its last own read or write of the file
	text  uint64    // exact hash of the text that it has written or was shown
	told  bool      // there is one, and the file may have another mtime with it
}

// call is an edit that was announced.
type call struct {
	files []*lockedFile
	times map[string]time.Time // mtimes that the files had when it was paused, by resolved path
	busy  bool                 // Before or After works on it
	ended bool                 // whoever works on it lets its files go
}

// lockedFile is a file of a call, locked.
type lockedFile struct {
	location
	overlay  *Overlay
	release  func()    // nil while it is not held: another edit of it has taken too long
	old      *content  // the text before the edit; nil when the file is new
	came     time.Time // when the old text came to the disk, zero for long ago
	direct   string    // why the file does not pass through the editor; "" when it does
	saved    *content  // the file whose mtime was put back to the one droid knows
	trueTime time.Time // its mtime before that
	paused   time.Time // the mtime with which droid found it before the user was asked; zero for none
}

// Overlay is a new overlay for a session whose client has this editor.
func (f *Files) Overlay(editor Editor, o OverlayOptions) *Overlay {
	return &Overlay{
		files: f, editor: editor, o: o, known: make(map[string]known), calls: make(map[string]*call),
		paused: make(map[string]map[string]time.Time), privateFiles: make(map[string][]*files.Private), stale: make(map[string]bool), missed: make(map[string]bool),
	}
}

// mtime is that of the old text, as the editor knows it.
func (h *lockedFile) mtime() time.Time {
	if !h.trueTime.IsZero() {
		return h.trueTime
	}
	return h.old.info.ModTime()
}

// Close ends the session's work: calls that wait are dropped, and no private file can be read any more.
func (d *Overlay) Close() {
	d.mu.Lock()
	d.closed = true
	calls, private := d.calls, d.privateFiles
	d.calls, d.privateFiles = make(map[string]*call), make(map[string][]*files.Private)
	var ended []*lockedFile
	for _, c := range calls {
		ended = append(ended, c.end()...)
	}
	d.mu.Unlock()
	unlock(ended)
	for _, s := range private {
		remove(s)
	}
	d.files.mu.Lock()
	defer d.files.mu.Unlock()
	for key := range d.files.commands.open {
		if key.overlay == d {
			d.files.commands.end(key, time.Now())
		}
	}
}

// CommandBegan notes that a tool runs which may change any file on disk. Each id
// must end.
func (d *Overlay) CommandBegan(id string) {
	d.files.mu.Lock()
	defer d.files.mu.Unlock()
	d.files.commands.begin(commandKey{d, id}, time.Now())
}

// CommandEnded notes that the tool has ended. An unknown id is none.
func (d *Overlay) CommandEnded(id string) {
	d.files.mu.Lock()
	defer d.files.mu.Unlock()
	d.files.commands.end(commandKey{d, id}, time.Now())
}

// Pause lets others edit the files of a call while the user is asked. Before comes again
// when he has allowed it; without that, After does nothing. lands says that the call changes only
// text that it names: it may be done on what the user has typed meanwhile. droid refuses
// that (0.99 to 0.225: "has been modified externally"), so Before then puts the mtime back which
// the files have now.
func (d *Overlay) Pause(id string, lands bool) {
	d.mu.Lock()
	times := make(map[string]time.Time)
	if c := d.calls[id]; c != nil && !c.busy && lands {
		for _, h := range c.files {
			if h.old != nil && h.direct == "" {
				times[h.resolved] = h.old.info.ModTime()
			}
		}
	}
	d.mu.Unlock()
	d.Drop(id)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed && len(times) > 0 {
		d.paused[id] = times
	}
}

// Drop lets go of what a call holds: files, where it has no After, and what Read gave it. A call
// that is not known holds nothing.
func (d *Overlay) Drop(id string) {
	d.mu.Lock()
	private := d.privateFiles[id]
	delete(d.paused, id)
	delete(d.privateFiles, id)
	var ended []*lockedFile
	if c := d.calls[id]; c != nil {
		delete(d.calls, id)
		ended = c.end()
	}
	d.mu.Unlock()
	unlock(ended)
	remove(private)
}

// remove takes private files away.
func remove(private []*files.Private) {
	for _, s := range private {
		s.Close()
	}
}

// end marks a call as ended. The files are the caller's to let go, unless somebody works
// on them. Overlay.mu is held.
func (c *call) end() []*lockedFile {
	c.ended = true
	if c.busy {
		return nil
	}
	files := c.files
	c.files = nil
	return files
}

// unlock unlocks files. What droid did not change gets its true mtime again.
func unlock(files []*lockedFile) {
	for _, h := range files {
		if h.saved != nil {
			h.overlay.putTrueTime(h)
		}
		if h.release != nil {
			h.release()
		}
	}
}

// putTrueTime ends the pretence that a file which was saved has not changed since droid
// read it, so that other programs see the change.
func (d *Overlay) putTrueTime(h *lockedFile) {
	now, err := d.files.look(h.resolved)
	if err == nil && now.text == h.saved.text && now.info.ModTime().Equal(h.saved.info.ModTime()) {
		now = d.files.putAttributes(h.resolved, now, mode(now.info), h.trueTime)
		d.files.noteDisk(h.resolved, now, true)
	}
}

// begin registers a call, in place of one with the same id.
func (d *Overlay) begin(id string) *call {
	d.mu.Lock()
	times := d.paused[id]
	d.mu.Unlock()
	d.Drop(id)
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &call{times: times, busy: true, ended: d.closed}
	if !d.closed {
		d.calls[id] = c
	}
	return c
}

// finish ends somebody's work on a call.
func (d *Overlay) finish(c *call) {
	d.mu.Lock()
	c.busy = false
	var files []*lockedFile
	if c.ended {
		files = c.end()
	}
	d.mu.Unlock()
	unlock(files)
}

// knows notes what droid knows of a file from now on.
func (d *Overlay) knows(resolved string, change func(*known)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.known[resolved]
	before := k.mtime
	change(&k)
	d.known[resolved] = k
	for _, times := range d.paused {
		if _, waits := times[resolved]; waits && !k.mtime.Equal(before) {
			times[resolved] = k.mtime
		}
	}
}

// compare reads a file on the disk and in the editor until it is clear who is right, or
// ctx is done: then the disk is.
func (d *Overlay) compare(ctx context.Context, at location) (c *content, buffer string, v verdict, err error) {
	first := ""
	for n := 0; ; n++ {
		if c, err = d.files.look(at.resolved); err != nil {
			return nil, "", disk, err
		}
		if d.o.KeepTimes && d.files.behind(at.resolved, c) {
			return c, "", disk, nil // it would ask its user
		}
		buffer, err = d.readEditor(ctx, at.path)
		switch {
		case n > 0 && errors.Is(err, errLate): // it has answered until now, only not what is waited for
			return c, "", disk, nil
		case err != nil:
			return c, "", disk, err
		}
		buffer = withLast(c.text, buffer)
		now, err := d.files.look(at.resolved)
		if err != nil {
			return nil, "", disk, err
		}
		v = askAgain // the file has changed meanwhile
		if now.same(c.info, c.changed) && now.text == c.text {
			v = judge(d.files.compareWith(at.resolved, c, buffer))
			if n > 0 && buffer != first && v == askAgain {
				v = disk // no reload does that
			}
			first = buffer
		}
		if v != askAgain {
			return c, buffer, v, nil
		}
		if !child.Pause(ctx, pollEvery) {
			return c, buffer, disk, nil
		}
	}
}

func (d *Overlay) debug(what string, at location, err error) {
	d.files.log.Debug(what, zap.String("path", at.path), zap.Error(err))
}
