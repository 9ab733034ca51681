package fakelogin

// OpenBrowser does nothing: how droid opens a browser on this system was not observed.
func OpenBrowser(string) {}
