package main

import "os"

// onHangup does nothing: here the next write tells that nobody reads any more.
func onHangup(*os.File, func()) {}
