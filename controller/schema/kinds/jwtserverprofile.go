package kinds

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// JWTServerProfile is an issuer of tokens, with its public keys as a JWK Set (RFC 7517).
type JWTServerProfile struct {
	Identity
	Named
	Owned
	Issuer      string `json:"issuer"`
	Keys        string `json:"jwks_keys"`
	Type        string `json:"jwt_profile_type" enum:"JWTProfileType" default:"CLIENT_AUTH"`
	IsFederated bool   `json:"is_federated" default:"false"`
}

var _ = schema.Enum("JWTProfileType", "CLIENT_AUTH", "CONTROLLER_INTERNAL_AUTH")

// tokenKeysMax is the limit of keys of an issuer. Engines try a few of them for a token without a kid.
const tokenKeysMax = 16

func init() {
	schema.Register[JWTServerProfile](schema.Definition{
		Short:   []string{"jwtserver"},
		Serving: schema.PartOfService,
		Unread:  []schema.Rule{schema.NoEffect(noSites, "is_federated")},
		Example: `  weir jwtserverprofile create login issuer=https://login.example jwks_keys="$(jq tojson jwks.json)"`,
		Kept: []schema.Rule{
			schema.Closes("the controller signs no tokens", "controller_internal_auth"),
			schema.NoEffect(computed, ""),
		},
	})
}

// TokenKey is a key of an issuer.
type TokenKey struct {
	ID        *string // kid
	Algorithm string  // "ES256"
	DER       []byte  // SubjectPublicKeyInfo
}

// TokenKeys returns the keys of a stored object.
func (p *JWTServerProfile) TokenKeys() []TokenKey {
	keys, _ := readTokenKeys(p.Keys) // the write has checked them
	return keys
}

func (p *JWTServerProfile) Validate() *schema.FieldError {
	if p.Type != "CLIENT_AUTH" {
		return refuse("jwt_profile_type", "cannot be %s: the controller signs no tokens; give CLIENT_AUTH", p.Type)
	}
	if p.Keys == "" {
		return refuse("jwks_keys", "is empty; give the public keys of the issuer as a JWK Set (RFC 7517)")
	}
	_, problem := readTokenKeys(p.Keys)
	return problem
}

// jwk is a key in a JWK Set (RFC 7518 §6, RFC 8037 §2).
type jwk struct {
	Type      string   `json:"kty"`
	ID        *string  `json:"kid"`
	Use       string   `json:"use"`
	Ops       []string `json:"key_ops"`
	Algorithm string   `json:"alg"`
	Curve     string   `json:"crv"`
	X         string   `json:"x"`
	Y         string   `json:"y"`
	N         string   `json:"n"`
	E         string   `json:"e"`
	D         string   `json:"d"`
}

// readTokenKeys reads a JWK Set. Keys that are not for checking signatures are left out.
func readTokenKeys(text string) ([]TokenKey, *schema.FieldError) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		return nil, refuse("jwks_keys", "is no JWK Set (RFC 7517), {\"keys\": [...]}: %v", err)
	}
	var keys []TokenKey
	ids := map[string]bool{}
	for i, raw := range set.Keys {
		at := fmt.Sprintf("jwks_keys.keys[%d]", i)
		var from jwk
		if err := json.Unmarshal(raw, &from); err != nil {
			return nil, refuse(at, "is no key: %v", err)
		}
		if from.D != "" {
			return nil, refuse(at,
				"is a private key: give the public one, and replace this one, which others have seen now")
		}
		isForOthers := from.Use != "" && from.Use != "sig" || len(from.Ops) > 0 && !slices.Contains(from.Ops, "verify")
		if isForOthers && from.Type != "oct" {
			continue
		}
		key, err := from.read()
		if err != nil {
			return nil, refuse(at, "%v", err)
		}
		if key.ID != nil && ids[*key.ID] {
			return nil, refuse(at+".kid", "%s is there twice: it would not say which key is meant",
				schema.Show(*key.ID))
		}
		if key.ID != nil {
			ids[*key.ID] = true
		}
		keys = append(keys, *key)
	}
	switch {
	case len(keys) == 0:
		return nil, refuse("jwks_keys", "has no key for signatures: every token would be refused")
	case len(keys) > tokenKeysMax:
		return nil, refuse("jwks_keys", "has %d keys: give at most %d", len(keys), tokenKeysMax)
	}
	return keys, nil
}

// read fixes the algorithm of the key, so that no token can choose it (RFC 8725 §3.1). Without alg it follows from kty.
func (k jwk) read() (*TokenKey, error) {
	var public crypto.PublicKey
	var allowed []string
	var err error
	switch k.Type {
	case "RSA":
		allowed = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
		public, err = k.rsa()
	case "EC":
		if named, known := tokenCurves[k.Curve]; known {
			allowed = []string{named.algorithm}
			public, err = k.ec(named.curve)
		} else {
			err = fmt.Errorf("crv %s is not implemented: give P-256, P-384 or P-521", schema.Show(k.Curve))
		}
	case "OKP":
		allowed = []string{"EdDSA"}
		var x []byte
		if x, err = number("x", k.X); err == nil && (k.Curve != "Ed25519" || len(x) != ed25519.PublicKeySize) {
			err = fmt.Errorf("crv %s is not implemented: give Ed25519 with 32 bytes", schema.Show(k.Curve))
		}
		public = ed25519.PublicKey(x)
	case "oct":
		err = fmt.Errorf("has a secret, and whoever checks tokens with it could make them: use RSA, EC or OKP")
	default:
		err = fmt.Errorf("kty %s is not implemented: give RSA, EC or OKP", schema.Show(k.Type))
	}
	if err != nil {
		return nil, err
	}
	key := &TokenKey{ID: k.ID, Algorithm: allowed[0]}
	if k.Algorithm != "" {
		key.Algorithm = ""
		for _, name := range allowed {
			if name == k.Algorithm {
				key.Algorithm = name
			}
		}
		if key.Algorithm == "" {
			return nil, fmt.Errorf("alg %s is not for this key: give %s", schema.Show(k.Algorithm),
				strings.Join(allowed, ", "))
		}
	}
	key.DER, err = x509.MarshalPKIXPublicKey(public)
	return key, err
}

var tokenCurves = map[string]struct {
	curve     elliptic.Curve
	algorithm string
}{
	"P-256": {elliptic.P256(), "ES256"}, "P-384": {elliptic.P384(), "ES384"}, "P-521": {elliptic.P521(), "ES512"},
}

func (k jwk) rsa() (*rsa.PublicKey, error) {
	n, err := number("n", k.N)
	if err != nil {
		return nil, err
	}
	e, err := number("e", k.E)
	if err != nil {
		return nil, err
	}
	modulus, exponent := new(big.Int).SetBytes(n), new(big.Int).SetBytes(e)
	if bits := modulus.BitLen(); bits < 2048 || bits > 8192 {
		return nil, fmt.Errorf("has %d bits: give 2048 to 8192", bits)
	}
	if !exponent.IsInt64() || exponent.Int64() < 3 || exponent.Int64() > 1<<31-1 || exponent.Bit(0) == 0 {
		return nil, fmt.Errorf("e is no exponent of a key")
	}
	return &rsa.PublicKey{N: modulus, E: int(exponent.Int64())}, nil
}

func (k jwk) ec(curve elliptic.Curve) (*ecdsa.PublicKey, error) {
	x, err := number("x", k.X)
	if err != nil {
		return nil, err
	}
	y, err := number("y", k.Y)
	if err != nil {
		return nil, err
	}
	size := (curve.Params().BitSize + 7) / 8
	if len(x) != size || len(y) != size {
		return nil, fmt.Errorf("x and y have %d and %d bytes: they need %d each", len(x), len(y), size)
	}
	public, err := ecdsa.ParseUncompressedPublicKey(curve, append(append([]byte{4}, x...), y...))
	if err != nil {
		return nil, fmt.Errorf("x and y are no point of the curve")
	}
	return public, nil
}

// number reads base64url without padding.
func number(field, text string) ([]byte, error) {
	bytes, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(bytes) == 0 {
		return nil, fmt.Errorf("%s is no base64url without padding", field)
	}
	return bytes, nil
}
