// Package docs has only tests of what a reader clicks, copies and runs: links have targets, blocks of JSON and YAML are valid, commands and
// flags exist, and commands work. Every command in a code block is listed in testdata/commands.txt, which says whether the test runs it, in
// a copy with an empty home, or why not. A command /path/to/droid-acp is run in an empty project. In a block of "console" the lines below a
// command are its output; numbers may differ, and "…" matches anything. Flags within a line ("--files") are those of droid-acp, unless
// another program precedes them. docs/dev/protocol.md must list where the code handles and renders quirks of droid.
package docs
