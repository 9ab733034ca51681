//go:build !linux && !darwin

package hooks

import (
	"errors"
	"net"
	"runtime"
)

var errUnsupported = errors.New("droid's hooks are not supported on " + runtime.GOOS + " yet: nobody has tried them there")

func listen() (*net.UnixListener, func(), error) { return nil, nil, errUnsupported }

func programPath() (string, error) { return "", errUnsupported }
