package results

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/colltune/colltune/compiler/collective"
)

// SourceNative is the source of trials that ran a native algorithm: one of the vendor's
// library, known by its name and settings alone, without a program. Its
// NativeHash takes the place of a program's hash, its protocol may be OwnProtocol,
// and it has no tile.
const SourceNative = "backend"

// ProtocolAuto is the protocol of a trial in which the library chose it.
const ProtocolAuto = "auto"

// NativeHash returns the hash of a native algorithm with its settings on a collective:
// 64 hexadecimal digits.
func NativeHash(algorithm string, settings map[string]string, spec collective.Spec) string {
	spec.Chunks = 1
	text, _ := json.Marshal(struct { // strings and numbers only: can't fail
		Schema     string            `json:"schema"`
		Algorithm  string            `json:"algorithm"`
		Settings   map[string]string `json:"settings"`
		Collective collective.Spec   `json:"collective"`
	}{"colltune.native/v1", algorithm, settings, spec})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// IsNative reports whether a trial ran a native algorithm, or is a setting.
func (t *Trial) IsNative() bool { return t.Source == SourceNative }

// IsSetting reports whether a trial is of a setting of the vendor's library, whose time a model says.
func (t *Trial) IsSetting() bool { return t.Evidence != "" }
