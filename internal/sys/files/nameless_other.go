//go:build !linux

package files

import "errors"

// Nameless fails: there are no files without a name here.
func Nameless(string) (*Draft, error) { return nil, errors.ErrUnsupported }

// Link is for a draft that Nameless made.
func (d *Draft) Link(string) error { return errors.ErrUnsupported }
