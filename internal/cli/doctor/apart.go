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

// A droid looks up Factory's hosts as soon as it starts, sends its session there where it
// has a login, and leaves some dozen files in ~/.factory. The doctor's has a directory of
// its own in the place of ~/.factory, no login, and addresses at which nobody listens.
// Whatever else it asks for goes to a proxy that is not there.
// Measured with 0.99.0, 0.215.0 and 0.225.2 on Linux: it looks up no name and
// connects to nobody. It leaves nothing either, but that 0.99 writes lines to ~/.factory/logs/console.log all the
// same. HOME stays: programs that choose a version of Node read it.

// unusedAddress is an address at which nobody listens: only the system may take that port.
const unusedAddress = "http://127.0.0.1:9"

// Variables of droid's (0.99 to 0.225).
const (
	envHome = "FACTORY_HOME_OVERRIDE"
	envKey  = droid.EnvKey // a login
)

// addresses are variables with the addresses of which droid makes use without a login.
var addresses = []string{"FACTORY_API_BASE_URL", "FACTORY_API_BASE_URL_EU", "FACTORY_TELEMETRY_INGEST_BASE_URL", "OTEL_CUSTOMER_ENDPOINT"}

// isolation is where a droid of the doctor's lives.
type isolation struct {
	temporary *files.TempDir
	id        string // is part of its name
	work      string // an empty directory, as droid calls it
	env       []string
}

// newIsolation makes one with these files in the place of ~/.factory.
func newIsolation(copies map[string][]byte) (*isolation, error) {
	a := &isolation{id: uuid.NewString()}
	var err error
	if a.temporary, _, err = files.MakeTempDir("doctor", a.id); err != nil {
		return nil, err
	}
	dir := files.RealPath(a.temporary.Path) // as droid calls it
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

// copied are the keys of settings that a droid apart gets.
var copied = []string{"customModels", "custom_models", "model", "modelPolicy", "sessionDefaultSettings"}

// plain are the keys of texts about a model that are no secret, and no address.
var plain = []string{"model", "id", "displayName", "model_display_name", "provider", "authMode", "reasoningEffort", "reasoning_effort", "awsProfile", "awsRegion"}

// reference is a variable's name in the place of a key, or what droid takes for none.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\$\{?\w+\}?|YOUR(_OPENAI)?_API_KEY)?$`) })

// withoutSecrets is the part of a user's settings that decides which models droid offers:
// whatever may be a key or an address is replaced.
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
