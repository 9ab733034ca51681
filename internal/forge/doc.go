// Package forge holds tests of what a forge runs and shows: the workflows, the
// composite action with the script of its steps, and the forms for issues. What they
// say to the forge is checked by actionlint in `make lint`; here is what it does not
// look at.
package forge
