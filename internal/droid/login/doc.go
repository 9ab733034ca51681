// Package login has droid log in to Factory. It starts a droid in its own ACP mode
// (`droid exec --output-format acp`), asks it to authenticate, and passes on what it
// tells and asks meanwhile, to whoever waits for the login. What droid says is the
// outcome; nothing else is.
//
// Seen with droid 0.99.0 and 0.225.2 (November 2026): droid offers the methods
// "device-pairing" and "factory-api-key". While it pairs, it opens an address, which has
// the code in it, in a browser (on Linux by xdg-open), and says nothing by ACP until the
// pairing was refused or has failed. It does not listen to "$/cancel_request"; it ends
// within 0.1 s when its input does. A pairing that succeeds was never seen.
package login
