// Package e2e tests the built droid-acp binary with real droids from npm, a scripted model on loopback and ACP clients: one without a
// library, acpx, and those in testdata/clients on the TypeScript SDK (also with its remote transports), acp-factory and the Go SDK. The tests
// need the build tag e2e, Linux with user namespaces, npm, and on the first run a network:
//
//	go test -tags e2e ./e2e
//
// The first word of a file's name is the subject of its tests: turns, permissions, files, sessions, trust, keep, serve, via, mcp, login,
// doctor, clients, smoke. Common helpers are in setup_*; wire_test.go records droid.
//
// Downloads are kept in $DROID_ACP_E2E_CACHE, or in droid-acp/e2e of the user's cache directory. The tests themselves run in a network
// namespace with only loopback.
package e2e
