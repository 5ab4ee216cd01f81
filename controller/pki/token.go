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
	// TokenLifetime is how long an operator has to start the agent.
	TokenLifetime = 10 * time.Minute

	// tokensMax may wait for their agents at a time; one more is refused.
	tokensMax = 1000
)

var (
	// ErrTokenRefused says that a token is unknown, already used or expired; the caller is not told which.
	ErrTokenRefused = errors.New("join token refused: unknown, already used or older than 10 minutes; create a new one")
	// ErrTooManyTokens says that nobody uses the tokens that were made.
	ErrTooManyTokens = fmt.Errorf("%d join tokens wait to be used already: use them, or wait until they expire",
		tokensMax)
)

// TokenVault is a Vault that holds nothing but tokens.
type TokenVault interface {
	Vault
	Delete(ctx context.Context, key string) error
	// CompareAndDelete reports whether the key had this value, and if so it is gone.
	CompareAndDelete(ctx context.Context, key string, value []byte) (bool, error)
	All(ctx context.Context) (map[string][]byte, error)
}

// Tokens issues join tokens and takes each back once. The vault keeps only hashes of secrets.
type Tokens struct {
	vault       TokenVault
	fingerprint [sha256.Size]byte
	now         func() time.Time
}

// NewTokens hands out tokens that lead to this authority.
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
	// Deleting decides: of two that come with the same token, one finds it gone.
	deleted, err := t.vault.CompareAndDelete(ctx, key, expiry)
	if err != nil {
		return fmt.Errorf("use join token: %w", err)
	}
	if !deleted || t.expired(expiry) {
		return ErrTokenRefused
	}
	return nil
}

// sweep drops the tokens that nobody came with.
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
