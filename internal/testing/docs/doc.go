// Package docs has no code, only tests: what the documents of this project name exists,
// their links lead somewhere, and their commands work.
//
// Every command in a code block stands in testdata/commands.txt, which says whether the tests
// run it, in a copy with an empty home, or why nobody does. In a block of "console" what
// stands below a command is what it prints; numbers may differ, and "…" is anything. Blocks
// of JSON and YAML are read. Flags within a line ("--files") are those of droid-acp, unless
// another program stands before them, and a test that is named ("TestLinks") exists. Words of
// errors, methods of droid's and all that ACP has stand in tables, which are compared with the code.
package docs
