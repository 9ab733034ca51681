package fakelogin

// OpenBrowser does nothing: how droid opens a browser here was not seen.
func OpenBrowser(string) {}
