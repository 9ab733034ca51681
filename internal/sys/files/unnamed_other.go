//go:build !linux

package files

import "errors"

// NewUnnamedDraft fails: this system has no unnamed files.
func NewUnnamedDraft(string) (*Draft, error) { return nil, errors.ErrUnsupported }

// Link fails: it is for drafts made by NewUnnamedDraft.
func (d *Draft) Link(string) error { return errors.ErrUnsupported }
