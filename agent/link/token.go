package link

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

// ErrToken says that a text is no join token. The controller decides whether a well-formed one is good.
var ErrToken = errors.New("not a join token: want weir1.<fingerprint>.<secret> as the controller printed it; create a new one there")

// Token is a one-time join token. Its fingerprint is how an engine that knows nobody yet knows the controller.
type Token struct {
	text        string
	Fingerprint [sha256.Size]byte // of the certificate of the controller's CA
}

// ParseToken reads weir1.<base64url sha256 of the CA certificate>.<base64url secret>.
func ParseToken(text string) (Token, error) {
	token := Token{text: strings.TrimSpace(text)}
	parts := strings.Split(token.text, ".")
	if len(parts) != 3 || parts[0] != "weir1" || parts[2] == "" {
		return Token{}, ErrToken
	}
	fingerprint, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || len(fingerprint) != sha256.Size {
		return Token{}, ErrToken
	}
	token.Fingerprint = [sha256.Size]byte(fingerprint)
	return token, nil
}
