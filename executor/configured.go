package executor

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/colltune/colltune/internal/child"
)

// Configured is an executor that the user's settings name: another one with an
// environment, a cap or a launcher of its own.
type Configured struct {
	// Kind is a built-in executor, or a plugin's name or path. With a launcher it
	// is looked for at the far end.
	Kind string
	// Launcher is a command that runs the command appended to it, here or
	// elsewhere, with its standard streams joined to ours: mpirun -np 8, srun -N
	// 2, ssh HOST. Without one, the executor is started directly.
	Launcher []string
	// Command is colltune's path at the launcher's far end. "": this binary's.
	Command string
	// Env adds NAME=VALUE pairs to the environment of the executor, or of its
	// launcher.
	Env []string
	// Settings are the kind's own, by name; see RegisterSettings.
	Settings map[string]string
	// Memory is the executor's cap, as in host.Options. 0: the host's.
	Memory int64
	// StartTimeout is how long a start may take. 0: ten minutes with a launcher,
	// because batch systems have queues; else host.Options.StartTimeout.
	StartTimeout time.Duration
	// From is the file that names it. It has no effect.
	From string
}

// KindSettings are the settings of one kind of executor, besides those that all have.
type KindSettings struct {
	Names []string
	// Launches is one of Names. Where that is set, the executor runs on this machine and
	// starts programs of its own with the launcher.
	Launches string
}

var (
	configurations registry[Configured]
	kinds          registry[KindSettings]
)

// RegisterSettings registers the settings of a built-in executor, which it reads with
// Setting and Launcher. Call it beside RegisterBuiltin.
func RegisterSettings(kind string, s KindSettings) { kinds.set(kind, s) }

// SettingsOf returns the settings of a kind; the zero value if it has none of its own.
func SettingsOf(kind string) KindSettings {
	settings, _ := kinds.get(kind)
	return settings
}

// Configure makes an executor known under a name, from then on. One that has a built-in's
// name must be of that kind, because other packages know the built-ins by name. The error
// names the entry that is wrong.
func Configure(name string, c Configured) error {
	if c.Kind == "" {
		c.Kind = name
	}
	switch {
	case name == "" || strings.ContainsAny(name, "/ \t"):
		return fmt.Errorf("executor %q: want a name without slashes and blanks", name)
	case Builtin(name) != nil && c.Kind != name:
		return fmt.Errorf("executor %s of kind %s: %s is built in, so want another name", name, c.Kind, name)
	case len(c.Launcher) == 0 && c.Command != "":
		return fmt.Errorf("executor %s: a command, and no launcher to give it to", name)
	}
	known := SettingsOf(c.Kind)
	for _, s := range slices.Sorted(maps.Keys(c.Settings)) {
		if !slices.Contains(known.Names, s) {
			return fmt.Errorf("executor %s: %s has no setting %q", name, c.Kind, s)
		}
	}
	configurations.set(name, c)
	return nil
}

// remote reports whether the executor runs at the far end of its launcher.
func (c *Configured) remote() bool {
	own := SettingsOf(c.Kind).Launches
	return len(c.Launcher) > 0 && (own == "" || c.Settings[own] == "")
}

// command is how a configured executor is started.
func (c *Configured) command(name string, dirs []string) (Command, error) {
	var cmd Command
	if c.remote() {
		if _, err := exec.LookPath(c.Launcher[0]); err != nil {
			return cmd, fmt.Errorf("%w: %s: its launcher %s: %v", ErrNotFound, name, c.Launcher[0], err)
		}
		self, err := child.Self()
		if err != nil {
			return cmd, err
		}
		at := c.Command
		if at == "" {
			if at, err = os.Executable(); err != nil {
				return cmd, err
			}
		}
		cmd = Command{Path: self, Args: append([]string{LaunchCommand, c.Kind, at, settingsWord(c.Settings)}, c.Launcher...), StartTimeout: 10 * time.Minute, Remote: true}
		cmd.Fingerprint = map[string]string{"launcher": strings.Join(c.Launcher, " ")}
	} else {
		var err error
		if cmd, err = findKind(c.Kind, dirs); err != nil {
			return cmd, fmt.Errorf("%s: %w", name, err)
		}
		cmd.Fingerprint = map[string]string{}
		cmd.Env = append(cmd.Env, settingsVariable+"="+encodeSettings(c.Settings, c.Launcher))
	}
	cmd.Name, cmd.builtin, cmd.Launches = name, false, len(c.Launcher) > 0
	cmd.Env = append(cmd.Env, c.Env...)
	cmd.Memory = c.Memory
	if c.StartTimeout > 0 {
		cmd.StartTimeout = c.StartTimeout
	}
	if len(c.Env) > 0 {
		cmd.Fingerprint["environment"] = strings.Join(slices.Sorted(slices.Values(c.Env)), " ")
	}
	return cmd, nil
}

// settingsVariable is the environment variable with an executor's settings, as JSON.
const settingsVariable = "COLLTUNE_EXECUTOR_SETTINGS"

// passedSettings is the content of that variable.
type passedSettings struct {
	Settings map[string]string `json:"settings,omitempty"`
	Launcher []string          `json:"launcher,omitempty"`
}

func encodeSettings(settings map[string]string, launcher []string) string {
	b, _ := json.Marshal(passedSettings{settings, launcher}) // strings only: can't fail
	return string(b)
}

// settingsWord is settings as a word that every shell on the way to a far end leaves
// whole; "": there are none.
func settingsWord(settings map[string]string) string {
	if len(settings) == 0 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(encodeSettings(settings, nil)))
}

// ReceiveSettings makes the SETTINGS of LaunchCommand and StdioCommand those of this
// process, which Setting returns from then on. "" leaves them as they are. An error means
// that word is not in the form of those commands.
func ReceiveSettings(word string) error {
	if word == "" {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(word)
	if err != nil {
		return err
	}
	return os.Setenv(settingsVariable, string(text))
}

func settingsGiven() passedSettings {
	var g passedSettings
	if text := os.Getenv(settingsVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &g); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", settingsVariable, err)
			os.Exit(2)
		}
	}
	return g
}

// Setting returns the user's value of a setting that RegisterSettings lists; "": it is not
// set. It is for built-in executors.
func Setting(name string) string { return settingsGiven().Settings[name] }

// Launcher returns the command with which a built-in executor is to start programs of its
// own; nil: the user has set none.
func Launcher() []string { return settingsGiven().Launcher }
