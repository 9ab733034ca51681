package login_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"droid-acp/internal/fakelogin"
)

// envScript makes this test program the scripted droid with that name.
const envScript = "FAKE_LOGIN"

func TestMain(m *testing.M) {
	if script := fakelogin.Scripts()[os.Getenv(envScript)]; script != nil {
		os.Exit(fakelogin.Run(os.Stdin, os.Stdout, fakelogin.OpenBrowser, script))
	}
	goleak.VerifyTestMain(m)
}
