//go:build unix

package editorfs

import "context"

// client is an editor whose methods return when it has answered, and async is asked for the
// same as a client of ACP is.
type client interface {
	ReadTextFile(ctx context.Context, path string) (string, error)
	WriteTextFile(ctx context.Context, path, text string) error
}

type async struct{ client client }

func (a async) ReadTextFile(path string, done func(string, error)) (withdraw func() bool) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done(a.client.ReadTextFile(ctx, path)) }()
	return func() bool { cancel(); return true }
}

func (a async) WriteTextFile(path, text string, done func(error)) (withdraw func() bool) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done(a.client.WriteTextFile(ctx, path, text)) }()
	return func() bool { cancel(); return true }
}
