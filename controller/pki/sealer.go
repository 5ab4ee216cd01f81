// Package pki has the certificate authority, the identities that it issues to engines and to the controller, one-time
// join tokens, and the encryption of stored secrets.
//
// store keeps what the package encrypts, and link uses the certificates that it issues. Private keys leave the package
// only encrypted, or inside a tls.Certificate.
package pki

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/weir-lb/weir/durable"
)

const sealVersion = 1

// ErrSealed says that a value was sealed with another key or for another purpose, or was altered.
var ErrSealed = errors.New("secret cannot be opened: it was sealed with another key file, or is damaged")

// Sealer encrypts values that the store keeps and nobody may read from its files.
type Sealer struct {
	key  []byte
	aead cipher.AEAD
}

// OpenSealer reads the 32-byte key in path. At the first start it makes the key (mode 0600), and returns once the key
// is on disk.
func OpenSealer(path string) (*Sealer, error) {
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = createKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("secrets key file: %w", err)
	}
	if len(key) != chacha20poly1305.KeySize {
		return nil, fmt.Errorf("secrets key file %s: has %d bytes, want %d: restore it from a backup",
			path, len(key), chacha20poly1305.KeySize)
	}
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, fmt.Errorf("secrets key file %s: %w", path, err)
	}
	return &Sealer{key: key, aead: aead}, nil
}

// Seal encrypts plain. Open must name the same purpose, so that nobody can replace one secret by another.
func (s *Sealer) Seal(plain []byte, purpose string) []byte {
	sealed := make([]byte, 1+s.aead.NonceSize(), 1+s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	sealed[0] = sealVersion
	nonce := sealed[1:]
	rand.Read(nonce)
	return s.aead.Seal(sealed, nonce, plain, []byte(purpose))
}

// Open is the inverse of Seal; it fails with ErrSealed.
func (s *Sealer) Open(sealed []byte, purpose string) ([]byte, error) {
	head := 1 + s.aead.NonceSize()
	if len(sealed) < head || sealed[0] != sealVersion {
		return nil, ErrSealed
	}
	plain, err := s.aead.Open(nil, sealed[1:head], sealed[head:], []byte(purpose))
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}

// Derive returns 32 bytes that are the same for one purpose as long as the key file is, and tell nothing of its key
// (RFC 5869 §2.3).
func (s *Sealer) Derive(purpose string) []byte {
	derived, err := hkdf.Expand(sha256.New, s.key, "weir "+purpose, sha256.Size)
	if err != nil {
		panic(err) // of lengths beyond 8,160 bytes only
	}
	return derived
}

func createKey(path string) ([]byte, error) {
	key := make([]byte, chacha20poly1305.KeySize)
	rand.Read(key)
	return key, durable.WriteFile(path, key)
}
