package droid

import "bufio"

func fakeWithTool(*bufio.Reader) int       { return 0 }
func fakeWithServer(*bufio.Reader) int     { return 0 }
func fakeStdoutHolder(*bufio.Reader) int   { return 0 }
func fakeServer(*bufio.Reader) int         { return 0 }
func fakeParentOfServer(*bufio.Reader) int { return 0 }
