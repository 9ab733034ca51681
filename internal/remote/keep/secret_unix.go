//go:build unix

package keep

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// secretFault returns why a file is not secret, and what to do about it; fault is "" if it is.
func secretFault(info fs.FileInfo) (fault, remedy string) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	mode := info.Mode().Perm()
	switch {
	case !ok || stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return "it belongs to another user", "give the file to the user of the server with `chown`, or use another one"
	case mode&0o007 != 0:
		return fmt.Sprintf("others can read or write it (mode %04o)", mode), "`chmod 600` it; for a secret of Kubernetes set defaultMode: 0440 and fsGroup, for one of Docker mode: 0440"
	case mode&0o020 != 0:
		return fmt.Sprintf("its group can write it (mode %04o)", mode), "`chmod g-w` it"
	}
	return "", ""
}
