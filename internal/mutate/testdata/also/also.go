// Package also has tests that notice what those of tiny do not.
package also
