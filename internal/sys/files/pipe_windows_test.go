package files

import "testing"

func makePipe(t *testing.T, _ string) { t.Skip("there are no pipes with a name") }
