//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// preparedEnv passes the prepared programs into the namespace, as JSON; a process that has it is inside.
const preparedEnv = "DROID_ACP_E2E_PREPARED"

// prepared are the programs that the tests run.
type prepared struct {
	Agent   string            // droid-acp
	Droids  map[string]string // by version
	Node    string            // of version 22
	ACPX    string            // acpx's script
	Clients string            // directory of the scripts of testdata/clients
	GoSDK   string            // the client of testdata/clients/gosdk
}

// programs is set by TestMain before any test runs.
var programs prepared

func TestMain(m *testing.M) {
	if os.Getenv(mcpEnv) != "" {
		os.Exit(serveMCP(os.Stdin, os.Stdout))
	}
	if os.Getenv(recordEnv) != "" {
		recordMain()
	}
	if os.Getenv(socatEnv) != "" {
		os.Exit(pretendSocat(os.Args[1:]))
	}
	if play := otherProgram(); play != nil {
		if err := play(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if inside := os.Getenv(preparedEnv); inside != "" {
		if err := json.Unmarshal([]byte(inside), &programs); err != nil {
			return 0, fmt.Errorf("reading $%s: %w", preparedEnv, err)
		}
		for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
			if signal.Ignored(s) { // by nohup: the agents would inherit that
				signal.Notify(make(chan os.Signal, 1), s)
			}
		}
		if err := loopbackUp(); err != nil {
			return 0, err
		}
		if err := parallel(); err != nil {
			return 0, err
		}
		return m.Run(), nil
	}
	p, cleanUp, err := prepare()
	if err != nil {
		return 0, err
	}
	defer cleanUp()
	return enter(p)
}

// parallel lets more tests run at once than there are processors, unless overridden: most of the time they wait for droid to start or to
// exit.
func parallel() error {
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
	if told {
		return nil
	}
	return flag.Set("test.parallel", fmt.Sprint(3*runtime.NumCPU()))
}

// enter runs this test binary again, in a new network namespace. What the real droid sends home ends there.
func enter(p prepared) (int, error) {
	inside, err := json.Marshal(p)
	if err != nil {
		return 0, err
	}
	runtime.LockOSThread() // Pdeathsig follows the thread
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), preparedEnv+"="+string(inside))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(1, exit.ExitCode()), nil
	case err != nil:
		return 0, fmt.Errorf("these tests need a network namespace, and none can be made here (are user namespaces allowed?): %w", err)
	}
	return 0, nil
}

// loopbackUp brings up the one interface of a new network namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bringing up loopback: %w", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("bringing up loopback: %w", err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("bringing up loopback: %w", err)
	}
	return nil
}
