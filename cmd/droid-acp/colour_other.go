//go:build !windows

package main

// heedsColours: a terminal does.
func heedsColours(uintptr) bool { return true }
