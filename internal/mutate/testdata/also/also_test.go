package also

import (
	"testing"

	"droid-acp/internal/mutate/testdata/tiny"
)

func TestUntested(t *testing.T) {
	if tiny.Untested() != "x" {
		t.Fatal("not x")
	}
}

func TestFails(t *testing.T) { t.Fatal("always") }
