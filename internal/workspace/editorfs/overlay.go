package editorfs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"

	"go.uber.org/zap"
)

// Overlay is the editor's file system as seen by one droid process: what it has read, which files its open calls have locked, and which
// texts are unsaved.
type Overlay struct {
	files  *Files
	editor ACPClient
	o      OverlayOptions

	mu           sync.Mutex
	closed       bool
	silent       time.Time // until when the editor is not asked for reads
	known        map[string]droidFile
	calls        map[string]*editCall
	paused       map[string]map[string]time.Time // by call and resolved path, see PauseEdit
	privateFiles map[string][]*files.PrivateFile // with unsaved texts, by call
	stale        map[string]bool                 // files no longer read through the editor, see distrust
	warned       map[string]bool                 // files that the user was notified of, see miss
	warnings     []string                        // messages to be returned by PendingWarnings
}

// OverlayOptions describe the client.
type OverlayOptions struct {
	// KeepTimes is for a client that asks its user what to do if a file's mtime differs from that of its last write (Emacs with
	// agent-shell). That mtime is preserved, and droid sees the one that it knows only during its edit. For other clients the file gets the
	// mtime of droid's write.
	KeepTimes bool
}

// droidFile is a file as droid knows it.
type droidFile struct {
	mtime   time.Time // of droid's last read or write of the file
	text    uint64    // exact hash of the text that it has written or seen
	hasText bool      // text is set, and the file's mtime may differ
}

// editCall is an announced edit.
type editCall struct {
	files []*lockedFile
	times map[string]time.Time // mtimes of the files when it was paused, by resolved path
	busy  bool                 // in use by BeginEdit or EndEdit
	ended bool                 // whoever uses it must release its files
}

// eachFile calls do for all files at once, and returns its results without the empty ones, in the order of the files.
func (c *editCall) eachFile(do func(*lockedFile) string) []string {
	results := make([]string, len(c.files))
	var work sync.WaitGroup
	for i, h := range c.files {
		work.Go(func() { results[i] = do(h) })
	}
	work.Wait()
	return slices.DeleteFunc(results, func(s string) bool { return s == "" })
}

// lockedFile is a locked file of a call.
type lockedFile struct {
	location
	overlay  *Overlay
	release  func()    // nil if it is not locked because another edit took too long
	old      *content  // the text before the edit; nil for a new file
	came     time.Time // when the old text was written to disk, zero for long ago
	direct   string    // why the file does not pass through the editor; "" if it does
	saved    *content  // the file after restoring the mtime that droid knows
	trueTime time.Time // its mtime before that
	paused   time.Time // the mtime that droid saw before the user was asked; zero if none
}

// Overlay returns a new overlay for a droid process whose client is editor.
func (f *Files) Overlay(editor ACPClient, o OverlayOptions) *Overlay {
	return &Overlay{
		files: f, editor: editor, o: o, known: make(map[string]droidFile), calls: make(map[string]*editCall),
		paused: make(map[string]map[string]time.Time), privateFiles: make(map[string][]*files.PrivateFile), stale: make(map[string]bool), warned: make(map[string]bool),
	}
}

// mtime returns the mtime of the old text, as the editor knows it.
func (h *lockedFile) mtime() time.Time {
	if !h.trueTime.IsZero() {
		return h.trueTime
	}
	return h.old.info.ModTime()
}

// Close ends the session's work: it drops pending calls and removes the private files.
func (d *Overlay) Close() {
	d.mu.Lock()
	d.closed = true
	calls, private := d.calls, d.privateFiles
	d.calls, d.privateFiles = make(map[string]*editCall), make(map[string][]*files.PrivateFile)
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

// CommandBegan records the start of a tool that may change any file. Each ID must be passed to CommandEnded.
func (d *Overlay) CommandBegan(id string) {
	d.files.mu.Lock()
	defer d.files.mu.Unlock()
	d.files.commands.begin(commandKey{d, id}, time.Now())
}

// CommandEnded records the end of the tool. An unknown ID is ignored.
func (d *Overlay) CommandEnded(id string) {
	d.files.mu.Lock()
	defer d.files.mu.Unlock()
	d.files.commands.end(commandKey{d, id}, time.Now())
}

// PauseEdit unlocks the files of a call while the user is asked. Before follows if they allow it; otherwise EndEdit does nothing. lands means
// that the call only replaces text that it names, so it may be applied to what the user has typed since. droid refuses that (0.99 to 0.225:
// "has been modified externally"), so BeginEdit then restores the mtimes that the files have now.
func (d *Overlay) PauseEdit(id string, lands bool) {
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

// Drop releases what a call holds: files, if no EndEdit follows, and what Read returned. An unknown call is ignored.
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

// remove removes private files.
func remove(private []*files.PrivateFile) {
	for _, s := range private {
		s.Close()
	}
}

// end marks a call as ended. It returns the files to be unlocked by the caller, unless someone else uses them. Overlay.mu is held.
func (c *editCall) end() []*lockedFile {
	c.ended = true
	if c.busy {
		return nil
	}
	files := c.files
	c.files = nil
	return files
}

// unlock unlocks files. A file that droid did not change gets its true mtime back.
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

// putTrueTime restores the true mtime of a saved file, so that other programs notice the change.
func (d *Overlay) putTrueTime(h *lockedFile) {
	now, err := d.files.readSuitable(h.resolved)
	if err == nil && now.text == h.saved.text && now.info.ModTime().Equal(h.saved.info.ModTime()) {
		now = d.files.putAttributes(h.resolved, now, mode(now.info), h.trueTime)
		d.files.noteDisk(h.resolved, now, true)
	}
}

// begin registers a call, replacing one with the same ID.
func (d *Overlay) begin(id string) *editCall {
	d.mu.Lock()
	times := d.paused[id]
	d.mu.Unlock()
	d.Drop(id)
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &editCall{times: times, busy: true, ended: d.closed}
	if !d.closed {
		d.calls[id] = c
	}
	return c
}

// finish ends the use of a call.
func (d *Overlay) finish(c *editCall) {
	d.mu.Lock()
	c.busy = false
	var files []*lockedFile
	if c.ended {
		files = c.end()
	}
	d.mu.Unlock()
	unlock(files)
}

// updateKnown updates what droid knows of a file.
func (d *Overlay) updateKnown(resolved string, change func(*droidFile)) {
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

// compare reads a file from disk and editor until it is clear which is valid, or ctx is done; then the disk is.
func (d *Overlay) compare(ctx context.Context, at location) (c *content, buffer string, v verdict, err error) {
	first := ""
	for n := 0; ; n++ {
		if c, err = d.files.readSuitable(at.resolved); err != nil {
			return nil, "", verdictDisk, err
		}
		if d.o.KeepTimes && d.files.editorBehind(at.resolved, c) {
			return c, "", verdictDisk, nil // the client would ask its user
		}
		buffer, err = d.readEditor(ctx, at.path)
		switch {
		case n > 0 && errors.Is(err, errLate): // it answered before, but not with the expected text
			return c, "", verdictDisk, nil
		case err != nil:
			return c, "", verdictDisk, err
		}
		buffer = withFinalNewline(c.text, buffer)
		now, err := d.files.readSuitable(at.resolved)
		if err != nil {
			return nil, "", verdictDisk, err
		}
		v = verdictRetry // the file has changed
		if now.same(c.info, c.changed) && now.text == c.text {
			v = judge(d.files.compareWith(at.resolved, c, buffer))
			if n > 0 && buffer != first && v == verdictRetry {
				v = verdictDisk // not caused by a reload
			}
			first = buffer
		}
		if v != verdictRetry {
			return c, buffer, v, nil
		}
		if !subprocess.Sleep(ctx, pollEvery) {
			return c, buffer, verdictDisk, nil
		}
	}
}

func (d *Overlay) debug(what string, at location, err error) {
	d.files.log.Debug(what, zap.String("path", at.path), zap.Error(err))
}
