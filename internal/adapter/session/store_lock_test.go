package session

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// A session that ends while it is being marked as open logs nothing: its context ends before the session does.
func TestNotMarkedAtTheEnd(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	s := &Session{log: zap.New(core)}
	s.Context, s.Stop = context.WithCancel(context.Background())
	s.notMarked(errors.New("the store is read-only"))
	require.Len(t, logs.TakeAll(), 1)
	s.Stop()
	s.notMarked(context.Canceled)
	require.Empty(t, logs.TakeAll())
}
