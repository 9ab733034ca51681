// Package docs has no code, only tests: what the documents of this project name exists,
// their links lead somewhere, their code blocks can be read, and their commands work.
//
// Every command in a code block stands in testdata/commands.txt, which says whether the tests
// run it, in a clone with an empty home, or why nobody does. In a block of "console" what
// stands below a command is what it prints; numbers may differ, and "…" is anything. Every
// block has a language that the tests know (the table languages): pictures and transcripts
// are "text". Flags within a line ("--files") are those of droid-acp, unless another program
// stands before them.
//
// The names are checked in some documents only (the table documents):
//
// In a document, backquotes stand around paths, Go names, commands, and words of a
// protocol. What looks like one of the first three is checked. Two backquotes
// that belong together stand on one line.
//
//   - A path is relative to the repository or to its internal directory. "*" stands for
//     any name, and so do NAME and VERSION, which the reader replaces.
//   - A Go name is one with a capital letter and a small one, or one with a package or a
//     type before it: Session, show.View, Machine.Cancel, turns.Machine.Cancel. "…" at
//     its end makes it a beginning of names. Of what other modules declare, what this
//     module uses exists.
//   - A name stands in the file that follows it: "`Machine.next` (`turns/turns.go`)", or "in"
//     in place of the bracket. So does the first name in a numbered step that begins with a
//     file: "1. `turns/turns.go`: `Machine.next` …".
//   - A command names paths ("./internal/docs") and targets of the Makefile
//     ("make mutate").
//
// A Go name of small letters alone is checked with its package before it only (show.tools).
// A word of a protocol that looks like a Go name stands in double quotes instead
// ("clientInfo"). In a code block, which may be a picture, only names with a package
// before them and the paths of Go files are checked.
package docs
