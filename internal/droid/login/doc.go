// Package login logs droid in to Factory. Do starts a droid in its own ACP mode (`droid exec --output-format acp`), asks it to
// authenticate, and passes droid's messages on to a Listener. The outcome is droid's answer, and nothing else. The adapter's authenticate
// and the command login use it.
//
// Observed with droid 0.99.0 and 0.225.2 (November 2026): droid offers the methods "device-pairing" and "factory-api-key". To pair, it
// opens an address, which contains the code, in a browser (on Linux with xdg-open), and sends nothing by ACP until the pairing was refused
// or has failed. It ignores "$/cancel_request"; it exits within 0.1 s at the end of its input. A successful pairing was never observed.
package login
