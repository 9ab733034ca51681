// Package e2e runs the built droid-acp binary with real droids from npm, a
// scripted model on loopback and ACP clients: one of its own that only knows
// the wire, acpx, and clients of testdata/clients on the TypeScript SDK (by its remote
// transports, too), acp-factory and the Go SDK. Its tests need the build tag e2e, Linux with user
// namespaces, npm, and on the first run a network:
//
//	go test -tags e2e ./e2e
//
// The first word of a file's name says what its tests prove: turns, permissions, files, sessions, trust, keep, serve,
// via, mcp, login, doctor, clients, smoke. What they share is in setup_*; wire_test.go records droid.
//
// What they download is kept in $DROID_ACP_E2E_CACHE, or in droid-acp/e2e of
// the user's cache directory. The tests themselves run in a network namespace
// with nothing but loopback in it.
package e2e
