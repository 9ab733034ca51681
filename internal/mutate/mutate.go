// Package mutate tests tests. It changes one small thing at a time in a package,
// such as a condition or a constant, and runs the package's tests with that change.
// A change that no test notices, a survivor, shows code that is not tested or not
// needed, or it changes nothing that matters.
//
// The command scripts/mutate is made of it; nothing of the program is.
package mutate

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// Operator is a kind of change.
type Operator string

// The operators.
const (
	Negate   Operator = "negate"   // a condition becomes its opposite, && becomes ||
	Boundary Operator = "boundary" // < becomes <=, n becomes n+1 in comparisons, indexes and slices
	Drop     Operator = "drop"     // a statement goes, or the values that it returns become zero
	Constant Operator = "constant" // a constant becomes another one of its type
)

var operators = []Operator{Negate, Boundary, Drop, Constant}

// Mutant is one change of one file.
type Mutant struct {
	Key
	Line int // where the change begins

	file       *sourceFile
	begin, end int    // bytes that are replaced
	text       string // what replaces them
}

// Key says which change a mutant is, without the number of its line: edits elsewhere
// in the file leave it as it is. Identical changes of identical lines of a function
// share a key.
type Key struct {
	Package  string // the folder below the module's root, with slashes
	File     string // the name within the folder
	Func     string // "Type.Method", "Func", or what a declaration declares
	Operator Operator
	Before   string // the source text of the lines that change, on one line
	After    string // the same after the change; empty where nothing is left
}

// String is the key on one line.
func (k Key) String() string {
	return fmt.Sprintf("%s/%s %s %s: %s → %s", k.Package, k.File, k.Func, k.Operator, k.Before, k.After)
}

// Mutants returns all changes that the operators make in a package, in the order in
// which a run takes them: the operators take turns, and in each of them the files.
// The order depends on the seed and on the mutants' keys alone, so that an edit in
// one place hardly changes which mutants of the others come first.
func Mutants(p *Package, seed uint64) []Mutant {
	groups := map[Operator]map[string][]Mutant{}
	for _, m := range sites(p) {
		if groups[m.Operator] == nil {
			groups[m.Operator] = map[string][]Mutant{}
		}
		groups[m.Operator][m.File] = append(groups[m.Operator][m.File], m)
	}
	var turns [][]Mutant
	for _, op := range operators {
		var files [][]Mutant
		for _, ms := range groups[op] {
			shuffle(ms, seed, func(m Mutant) string { return m.Key.String() })
			files = append(files, ms)
		}
		shuffle(files, seed, func(ms []Mutant) string { return string(op) + ms[0].File })
		turns = append(turns, takeTurns(files))
	}
	return takeTurns(turns)
}

// takeTurns returns the first of each list, then the second of each, and so on.
func takeTurns[T any](lists [][]T) []T {
	var out []T
	for i, more := 0, true; more; i++ {
		more = false
		for _, list := range lists {
			if i < len(list) {
				out = append(out, list[i])
				more = true
			}
		}
	}
	return out
}

// shuffle sorts list by a hash of the seed and each element's name. Elements of one
// name keep their order.
func shuffle[T any](list []T, seed uint64, name func(T) string) {
	hash := func(e T) string {
		sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, seed), name(e)...))
		return string(sum[:])
	}
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Or(cmp.Compare(hash(a), hash(b)), cmp.Compare(name(a), name(b))) })
}
