package editorfs

import (
	"time"

	"droid-acp/internal/text/udiff"
)

// comparison is the state of a file in which the editor's text is compared with the disk's.
type comparison struct {
	same      bool          // the texts are equal except for line endings
	confirmed bool          // the editor has had the disk's text since the file's last change
	earlier   bool          // the editor's text is one that the disk had before
	empty     bool          // the editor's text is empty, as some clients report for an unreadable file
	command   bool          // the file changed while a command ran
	direct    bool          // droid's last edit of the file did not pass through the editor
	age       time.Duration // since the file's last change; negative if that is in the future
}

// verdict is which text is valid.
type verdict string

const (
	verdictEqual   verdict = "equal"     // both
	verdictDisk    verdict = "disk"      // the editor's text is out of date, or this is unknown
	verdictRetry   verdict = "ask again" // the editor may be about to reload the file: ask again
	verdictUnsaved verdict = "unsaved"   // the user has unsaved changes
)

// reloadTime is how long after a change of a file an editor may take to reload it.
const reloadTime = 3 * time.Second

// judge decides which text is valid. An outdated text must never be taken for an unsaved one, since it would be saved over the disk's.
func judge(s comparison) verdict {
	recent := s.age < reloadTime
	switch {
	case s.same:
		return verdictEqual
	case s.empty:
		return verdictDisk
	case s.earlier && recent && !s.command && s.age > -reloadTime:
		return verdictRetry
	case s.earlier:
		return verdictDisk // the editor does not notice changes, or has an unsaved undo
	case s.confirmed:
		return verdictUnsaved
	case s.command, s.age <= -reloadTime:
		return verdictDisk
	case recent:
		return verdictRetry
	case s.direct:
		return verdictDisk // the user may have edited the text from before
	}
	return verdictUnsaved
}

// finding is the result of a write of droid's text by the editor.
type finding string

const (
	findingAgreed   finding = "agreed"   // disk and editor have droid's text, or what the editor made of it
	findingTwice    finding = "twice"    // the same, but possibly droid's edit applied twice, or to another text than the old one: a second write shows which
	findingUnseen   finding = "unseen"   // the disk has droid's text; the editor does not return its own
	findingUndone   finding = "undone"   // the disk has droid's text, and the editor the old one
	findingBypassed finding = "bypassed" // the disk has droid's text, and the editor a third one
	findingOld      finding = "old"      // the disk has another text, and the editor the old one
	findingOther    finding = "other"    // the disk has another text, and the editor a third one
)

// judgeWrite decides what a write of droid's text by the editor came to, by the text from before the edit and those that disk and editor
// have after it. mayReload means that the editor may have been about to reload an even older text.
func judgeWrite(before, droids, disk, buffer string, mayReload bool) finding {
	switch right := disk == droids; {
	case right && buffer == "" && droids != "":
		return findingUnseen
	case right && sameText(droids, buffer):
		return findingAgreed
	case right && sameText(before, buffer):
		return findingUndone
	case right:
		return findingBypassed
	case sameText(disk, buffer) && (mayReload || maybeTwice(before, droids, disk)):
		return findingTwice
	case sameText(disk, buffer):
		return findingAgreed
	case sameText(before, buffer):
		return findingOld
	}
	return findingOther
}

// resolution says what to do with droid's edit if the disk has neither the text from before nor the one that it must get.
type resolution string

const (
	resolveTorn    resolution = "torn"    // the disk has an incomplete write of the text, which is written again
	resolveMerge   resolution = "merge"   // another change was saved concurrently with droid's edit: the disk gets both
	resolveOverlap resolution = "overlap" // someone has changed the same lines as droid
)

// reconcile decides what a disk with another text must get: text, which is droid's, possibly merged with what was saved before, or a merge
// of it and the disk's. base is the text before both changes. partial means that text is being written.
func reconcile(base, droids, text, disk string, partial bool) (string, resolution) {
	if partial && partOf(text, disk) {
		return text, resolveTorn
	}
	if both, apart := udiff.Merge(base, disk, droids); apart {
		return both, resolveMerge
	}
	return text, resolveOverlap
}
