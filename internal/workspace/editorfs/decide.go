package editorfs

import "time"

// comparison is what is known when the editor's text of a file is compared with the disk's.
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
