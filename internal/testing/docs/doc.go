// Package docs has no code, only tests of what a reader clicks, copies and runs: links lead
// somewhere, blocks of JSON and YAML can be read, commands and flags exist, and commands work.
// Every command in a code block stands in testdata/commands.txt, which says whether the test
// runs it, in a copy with an empty home, or why nobody does. In a block of "console" what
// stands below a command is what it prints; numbers may differ, and "…" is anything. Flags
// within a line ("--files") are those of droid-acp, unless another program stands before them. Where quirks of
// droid are handled and shown stands in docs/dev/protocol.md as the code says it.
package docs
