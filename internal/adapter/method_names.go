package adapter

import (
	"maps"
	"slices"
)

// MethodNames returns the names of the methods that an agent serves, sorted.
func MethodNames() []string {
	var a Agent
	all := a.methods()
	maps.Copy(all, a.extensions())
	maps.Copy(all, a.indexMethods())
	return slices.Sorted(maps.Keys(all))
}
