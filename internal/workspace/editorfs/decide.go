package editorfs

import "time"

// comparison is what is known when the editor's text of a file is compared with the disk's.
type comparison struct {
	same      bool          // the texts are the same, line ends aside
	confirmed bool          // the editor was seen to have the disk's text since the file changed last
	earlier   bool          // the editor's text is one that the disk had before
	empty     bool          // the editor's text is empty: some clients say so of a file that they cannot read
	command   bool          // the file changed while a command ran
	direct    bool          // droid's last edit of the file did not pass through the editor
	age       time.Duration // since the file changed; below 0 in the future
}

// verdict says who is right.
type verdict string

const (
	equal    verdict = "equal"     // both are
	disk     verdict = "disk"      // the editor's text is out of date, or nobody can tell
	askAgain verdict = "ask again" // the editor may be about to reload the file: ask again
	unsaved  verdict = "unsaved"   // the user has changed the text and not saved it
)

// reloadTime is how long after a change of a file an editor may take to reload it.
const reloadTime = 3 * time.Second

// judge decides who is right. A text that is out of date must never pass for an unsaved
// one: it would be saved over the disk's.
func judge(s comparison) verdict {
	recent := s.age < reloadTime
	switch {
	case s.same:
		return equal
	case s.empty:
		return disk
	case s.earlier && recent && !s.command && s.age > -reloadTime:
		return askAgain
	case s.earlier:
		return disk // an editor that does not notice changes, or an undo that is not saved
	case s.confirmed:
		return unsaved
	case s.command, s.age <= -reloadTime:
		return disk
	case recent:
		return askAgain
	case s.direct:
		return disk // the user may have typed into the text before that edit
	}
	return unsaved
}
