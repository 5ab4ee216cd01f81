package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

const issuerOfTokens = "https://login.example"

// tokenIssuer makes tokens for clients of the table.
type tokenIssuer struct{ key *ecdsa.PrivateKey }

func newTokenIssuer(t *testing.T) *tokenIssuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &tokenIssuer{key}
}

func base64url(bytes []byte) string { return base64.RawURLEncoding.EncodeToString(bytes) }

// keys are those that engines judge tokens by, as JWKS.
func (i *tokenIssuer) keys() string {
	const size = 32 // of a coordinate
	x, y := make([]byte, size), make([]byte, size)
	i.key.X.FillBytes(x)
	i.key.Y.FillBytes(y)
	return fmt.Sprintf(`{"keys": [{"kty": "EC", "crv": "P-256", "kid": "a", "use": "sig", "x": %q, "y": %q}]}`,
		base64url(x), base64url(y))
}

// token makes a good token with these claims, which are JSON.
func (i *tokenIssuer) token(claims string) (string, error) {
	all := object{"iss": issuerOfTokens, "aud": "shop", "exp": time.Now().Add(time.Hour).Unix()}
	if err := json.Unmarshal([]byte(claims), &all); err != nil {
		return "", err
	}
	payload, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	signed := base64url([]byte(`{"alg":"ES256","kid":"a"}`)) + "." + base64url(payload)
	hash := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, hash[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64url(signature), nil
}
