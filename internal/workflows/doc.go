// Package workflows holds tests of what a forge runs: the workflows, and the composite action
// with the script of its steps. Their grammar is checked by actionlint in `make lint`; here
// is what it does not look at.
package workflows
