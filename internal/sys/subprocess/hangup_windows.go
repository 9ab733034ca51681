package subprocess

import "os"

// OnReaderGone does nothing: on Windows the next write fails instead.
func OnReaderGone(*os.File, func()) {}

// OnWriterGone does nothing: on Windows the end is read after the remaining data.
func OnWriterGone(*os.File, func()) {}
