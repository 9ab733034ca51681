//go:build !linux

package files

import "errors"

// Nameless fails: this system has no unnamed files.
func Nameless(string) (*Draft, error) { return nil, errors.ErrUnsupported }

// Link fails: it is for drafts made by Nameless.
func (d *Draft) Link(string) error { return errors.ErrUnsupported }
