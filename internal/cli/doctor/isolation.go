package doctor

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"droid-acp/internal/droid"
	"droid-acp/internal/sys/files"
)

// droid looks up Factory's hosts as soon as it starts, sends its session there if it has a login, and creates a dozen files in ~/.factory.
// The doctor's droid has its own directory instead of ~/.factory, no login, and addresses at which nothing listens. Any other request goes
// to a proxy that does not exist. Measured with 0.99.0, 0.215.0 and 0.225.2 on Linux: it looks up no name and makes no connection. It also
// leaves nothing behind, except that 0.99 still writes lines to ~/.factory/logs/console.log. HOME is unchanged: programs that select a
// version of Node read it.

// unusedAddress is an address at which nothing listens: only the system may use that port.
const unusedAddress = "http://127.0.0.1:9"

// Environment variables of droid (0.99 to 0.225).
const (
	envHome = "FACTORY_HOME_OVERRIDE"
	envKey  = droid.EnvKey // a login
)

// addresses are the variables with the addresses that droid uses without a login.
var addresses = []string{"FACTORY_API_BASE_URL", "FACTORY_API_BASE_URL_EU", "FACTORY_TELEMETRY_INGEST_BASE_URL", "OTEL_CUSTOMER_ENDPOINT"}

// isolation is the environment of the doctor's droid.
type isolation struct {
	temporary *files.TempDir
	id        string // part of its name
	work      string // an empty directory, by the path that droid uses
	env       []string
}

// newIsolation creates one with these files instead of ~/.factory.
func newIsolation(copies map[string][]byte) (*isolation, error) {
	a := &isolation{id: uuid.NewString()}
	var err error
	if a.temporary, _, err = files.MakeTempDir("doctor", a.id); err != nil {
		return nil, err
	}
	dir := files.RealPath(a.temporary.Path) // the path that droid uses
	home, factory := filepath.Join(dir, "home"), filepath.Join(dir, "home", ".factory")
	a.work = filepath.Join(dir, "work")
	err = errors.Join(os.Mkdir(a.work, 0o700), os.MkdirAll(factory, 0o700))
	for name, data := range copies {
		err = errors.Join(err, files.Write(filepath.Join(factory, name), data, 0o600))
	}
	if err != nil {
		return nil, errors.Join(err, a.temporary.Remove())
	}
	a.env = slices.DeleteFunc(os.Environ(), func(line string) bool {
		name, _, _ := strings.Cut(strings.ToUpper(line), "=")
		return name == envHome || name == envKey || name == "FACTORY_LOG_FILE" || strings.HasPrefix(name, "OTEL_") ||
			strings.HasSuffix(name, "_PROXY") || slices.Contains(addresses, name)
	})
	a.env = append(a.env, envHome+"="+home, "FACTORY_DISABLE_KEYRING=1", "OTEL_SDK_DISABLED=true")
	for _, name := range append(addresses, "HTTP_PROXY", "HTTPS_PROXY") {
		a.env = append(a.env, name+"="+unusedAddress)
	}
	return a, nil
}

// copied are the keys of settings that an isolated droid gets.
var copied = []string{"customModels", "custom_models", "model", "modelPolicy", "sessionDefaultSettings"}

// plain are the keys of strings about a model that are neither secret nor an address.
var plain = []string{"model", "id", "displayName", "model_display_name", "provider", "authMode", "reasoningEffort", "reasoning_effort", "awsProfile", "awsRegion"}

// reference matches the name of a variable in place of a key, or a value that droid treats as no key.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\$\{?\w+\}?|YOUR(_OPENAI)?_API_KEY)?$`) })

// withoutSecrets returns the part of a user's settings that determines which models droid offers: everything that may be a key or an
// address is replaced.
func withoutSecrets(settings map[string]any) ([]byte, error) {
	part := map[string]any{}
	for _, key := range copied {
		if value, ok := settings[key]; ok {
			part[key] = value
			if strings.HasPrefix(strings.ToLower(key), "custom") {
				part[key] = replaced("", value)
			}
		}
	}
	return json.Marshal(part)
}

func replaced(key string, value any) any {
	switch v := value.(type) {
	case string:
		if slices.Contains(plain, key) || reference().MatchString(v) {
			return v
		}
		return unusedAddress
	case []any:
		for i := range v {
			v[i] = replaced("", v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = replaced(name, v[name])
		}
	}
	return value
}
