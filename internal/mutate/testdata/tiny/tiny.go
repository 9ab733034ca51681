// Package tiny is what the tests of mutate change.
package tiny

import "errors"

const small, big = 1, 2

// Larger has a mutant that no test can notice: of two equal numbers, either is the larger.
func Larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// Untested has mutants that no test notices.
func Untested() string { return "x" }

// Sum never ends when its only step is dropped.
func Sum(n int) (sum int) {
	for n != 0 {
		sum += n
		n--
	}
	return sum
}

type list []string

// Without has something for each operator.
func (l *list) Without(i int, loud bool) (int, error) {
	if i < 0 || i >= len(*l) && !loud {
		return small, errors.New("no such element")
	}
	rest := (*l)[i+1:]
	switch {
	case loud:
		rest = append(rest, "without")
	}
	*l = append((*l)[:i], rest...)
	return big, nil
}

type point struct{ x, y int }

// Origin returns what is zero already, or all but zero.
func Origin(moved bool) point {
	if moved {
		return point{y: big}
	}
	return point{x: 0, y: 0}
}
