package droid

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
)

// The test binary runs itself as a fake droid: envFake names the behaviour.
const (
	envFake   = "DROID_TEST_FAKE"
	envSocket = "DROID_TEST_SOCKET" // a listener of the test; its end shows that the process has exited
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(envFake); mode != "" {
		os.Exit(fakeMain(mode))
	}
	goleak.VerifyTestMain(m)
}

// fakes are the behaviours. Each gets the lines that come on stdin.
var fakes = map[string]func(in *bufio.Reader) int{
	"normal":        func(in *bufio.Reader) int { serve(in, nil); return 0 },
	"exit1":         fakeExit1,
	"suicide":       fakeSuicide,
	"stubborn":      fakeStubborn,
	"deaf":          func(*bufio.Reader) int { ignoreSignals(); fakeTool(); return 0 },
	"huge":          fakeHuge,
	"noise":         fakeNoise,
	"flood":         fakeFlood,
	"close-stdout":  func(*bufio.Reader) int { os.Stdout.Close(); select {} },
	"close-stdin":   func(*bufio.Reader) int { os.Stdin.Close(); say(settingsLine); ignoreSignals(); select {} },
	"stdout-holder": fakeStdoutHolder,
	"tool":          func(*bufio.Reader) int { fakeTool(); return 0 },
	"with-tool":     fakeWithTool,
	"with-server":   fakeWithServer,
	"server":        fakeServer,
	"settings":      fakeSettings,
	"prompted":      fakePrompted,
	"parent":        fakeParent,

	"parent-of-server": fakeParentOfServer,
}

func fakeMain(mode string) int {
	return fakes[mode](bufio.NewReader(os.Stdin))
}

const envelope15 = `"jsonrpc":"2.0","factoryApiVersion":"1.0.0","factoryProtocolVersion":"1.15.0"`

const settingsLine = `{` + envelope15 + `,"type":"notification","method":"droid.session_notification",` +
	`"params":{"notification":{"type":"settings_updated","settings":{"autonomyMode":"normal"}}}}`

func say(line string) { fmt.Println(line) }

func notify(notification string) string {
	return `{` + envelope15 + `,"type":"notification","method":"droid.session_notification","params":{"notification":` + notification + `}}`
}

// serve answers every request until stdin ends; on may do more for a method.
func serve(in *bufio.Reader, on func(method string)) {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var req struct{ ID, Method string }
		if json.Unmarshal(line, &req) != nil || req.Method == "" {
			continue
		}
		if on != nil {
			on(req.Method)
		}
		result := `{}`
		if req.Method == methodInitialize {
			dir, _ := os.Getwd()
			result = fmt.Sprintf(`{"sessionId":"s1","session":{"messages":[]},"settings":{},"cwd":%q,"availableModels":[{"id":%q}]}`,
				dir, strings.Join(os.Args[1:], " ")+" update="+os.Getenv(envAutoUpdate))
		}
		say(fmt.Sprintf(`{%s,"type":"response","id":%q,"result":%s}`, envelope15, req.ID, result))
	}
}

func ignoreSignals() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT) }

func fakeExit1(*bufio.Reader) int {
	for i := range 25 {
		fmt.Fprintf(os.Stderr, "line %d\n", i)
	}
	fmt.Fprint(os.Stderr, "error: unknown option '--bogus'")
	return 1
}

func fakeSuicide(in *bufio.Reader) int {
	serve(in, func(method string) {
		if method == methodAddUserMessage {
			fmt.Fprintln(os.Stderr, "out of memory")
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {}
		}
	})
	return 0
}

func fakeStubborn(in *bufio.Reader) int {
	ignoreSignals()
	serve(in, nil)
	select {}
}

func fakeHuge(in *bufio.Reader) int {
	serve(in, func(method string) {
		if method == methodAddUserMessage {
			out := bufio.NewWriterSize(os.Stdout, 1<<20)
			io.WriteString(out, notify(`{"type":"tool_result","toolUseId":"t","content":"`+strings.Repeat("x", 20<<20)+`"}`)+"\n")
			out.Flush()
		}
	})
	return 0
}

func fakeNoise(in *bufio.Reader) int {
	say("Welcome to droid!")
	say("")
	say(`{"hello":"world"}`)
	say(`[1,2,3]`)
	say("{\xff\xfe}")
	serve(in, nil)
	return 0
}

func fakeFlood(in *bufio.Reader) int {
	go io.Copy(io.Discard, in)
	for i := 0; ; i++ {
		fmt.Println(notify(fmt.Sprintf(`{"type":"assistant_text_delta","messageId":"m","blockIndex":0,"textDelta":"%d "}`, i)))
	}
}

// fakeTool shows that it lives by a connection to the test's socket, and ends
// with the test.
func fakeTool() {
	conn, err := net.Dial("unix", os.Getenv(envSocket))
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(conn, os.Getpid())
	io.Copy(io.Discard, conn)
}

// fakeParent runs a client of a droid in this process, until it is killed.
func fakeParent(*bufio.Reader) int {
	c, err := Start(fakeCommand("deaf"), zap.NewNop())
	if err != nil {
		panic(err)
	}
	<-c.Exited()
	return 0
}

// fakeCommand runs this test binary as a fake droid.
func fakeCommand(mode string, env ...string) Command {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	// The race detector otherwise sleeps a second at every exit.
	all := append(os.Environ(), envFake+"="+mode, "GORACE=atexit_sleep_ms=0")
	return Command{Path: self, Env: append(all, env...)}
}
