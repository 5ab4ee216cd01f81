// Package enrollment is the part of the contract of engine.proto that comes before its first message: how a controller
// and an agent that have never met know each other. Who makes tokens and how long they last is no business of it.
package enrollment

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

const (
	// ControllerName is in every controller's certificate, whatever address it is reached at.
	ControllerName = "weir-controller"
	// SecretBytes is how long the secret of a join token is.
	SecretBytes = 32

	tokenPrefix = "weir1"
)

// ErrTokenFormat says that a text is no join token. The controller decides whether a well-formed one is good.
var ErrTokenFormat = errors.New("not a join token: want weir1.<fingerprint>.<secret>, as `weir token` prints it")

// Token is a join token: what an operator carries from the controller to a new engine.
type Token struct {
	Fingerprint [sha256.Size]byte // of the certificate of the controller's CA: how the agent knows the controller
	Secret      []byte            // how the controller knows the agent
}

// String is weir1.<base64url of the fingerprint>.<base64url of the secret>.
func (t Token) String() string {
	encode := base64.RawURLEncoding.EncodeToString
	return tokenPrefix + "." + encode(t.Fingerprint[:]) + "." + encode(t.Secret)
}

// ParseToken reads what String wrote; errors: ErrTokenFormat.
func ParseToken(text string) (Token, error) {
	parts := strings.Split(strings.TrimSpace(text), ".")
	if len(parts) != 3 || parts[0] != tokenPrefix {
		return Token{}, ErrTokenFormat
	}
	fingerprint, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || len(fingerprint) != sha256.Size {
		return Token{}, ErrTokenFormat
	}
	secret, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(secret) != SecretBytes {
		return Token{}, ErrTokenFormat
	}
	return Token{Fingerprint: [sha256.Size]byte(fingerprint), Secret: secret}, nil
}
