package pki

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/weir-lb/weir/api/engine/enrollment"
)

const (
	// TokenLifetime is how long a token is valid.
	TokenLifetime = 10 * time.Minute

	// tokensMax is the number of unused tokens. Issue refuses to make more.
	tokensMax = 1000
)

var (
	// ErrTokenRefused says that a token is unknown, used or expired. It does not say which of these.
	ErrTokenRefused = errors.New("join token refused: unknown, already used or older than 10 minutes; create a new one")
	// ErrTooManyTokens says that too many tokens are unused.
	ErrTooManyTokens = fmt.Errorf("%d join tokens wait to be used already: use them, or wait until they expire",
		tokensMax)
)

// TokenVault is a Vault that contains only tokens.
type TokenVault interface {
	Vault
	Delete(ctx context.Context, key string) error
	// CompareAndDelete deletes the key if it has this value, and returns whether it did.
	CompareAndDelete(ctx context.Context, key string, value []byte) (bool, error)
	All(ctx context.Context) (map[string][]byte, error)
}

// Tokens issues join tokens, and accepts each of them once. The vault contains only hashes of them.
type Tokens struct {
	vault       TokenVault
	fingerprint [sha256.Size]byte
	now         func() time.Time
}

// NewTokens makes tokens that name this authority.
func NewTokens(vault TokenVault, authority *Authority, now func() time.Time) *Tokens {
	return &Tokens{vault: vault, fingerprint: authority.Fingerprint(), now: now}
}

// Issue makes a token that is good for one Join within TokenLifetime.
func (t *Tokens) Issue(ctx context.Context) (string, error) {
	if err := t.sweep(ctx); err != nil {
		return "", fmt.Errorf("create join token: %w", err)
	}
	secret := make([]byte, enrollment.SecretBytes)
	rand.Read(secret)
	expiry := binary.BigEndian.AppendUint64(nil, uint64(t.now().Add(TokenLifetime).UnixMilli()))
	if err := t.vault.Put(ctx, secretKey(secret), expiry); err != nil {
		return "", fmt.Errorf("create join token: %w", err)
	}
	return enrollment.Token{Fingerprint: t.fingerprint, Secret: secret}.String(), nil
}

// Redeem uses a token up. Errors: enrollment.ErrTokenFormat, ErrTokenRefused, or the vault's.
func (t *Tokens) Redeem(ctx context.Context, text string) error {
	token, err := enrollment.ParseToken(text)
	if err != nil {
		return err
	}
	key := secretKey(token.Secret)
	expiry, err := t.vault.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("look up join token: %w", err)
	}
	if expiry == nil {
		return ErrTokenRefused
	}
	// If two clients come with the same token at the same time, only one of them can delete it.
	deleted, err := t.vault.CompareAndDelete(ctx, key, expiry)
	if err != nil {
		return fmt.Errorf("use join token: %w", err)
	}
	if !deleted || t.expired(expiry) {
		return ErrTokenRefused
	}
	return nil
}

// sweep deletes expired tokens.
func (t *Tokens) sweep(ctx context.Context) error {
	tokens, err := t.vault.All(ctx)
	if err != nil {
		return err
	}
	for key, expiry := range tokens {
		if !t.expired(expiry) {
			continue
		}
		if err := t.vault.Delete(ctx, key); err != nil {
			return err
		}
		delete(tokens, key)
	}
	if len(tokens) >= tokensMax {
		return ErrTooManyTokens
	}
	return nil
}

func (t *Tokens) expired(expiry []byte) bool {
	return len(expiry) != 8 || t.now().UnixMilli() > int64(binary.BigEndian.Uint64(expiry))
}

func secretKey(secret []byte) string {
	hash := sha256.Sum256(secret)
	return base64.RawURLEncoding.EncodeToString(hash[:])
}
