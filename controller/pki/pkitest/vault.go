// Package pkitest is a vault for tests that need no store.
package pkitest

import (
	"bytes"
	"context"
	"maps"
	"sync"
)

// Vault is a pki.TokenVault in a map.
type Vault struct {
	mu     sync.Mutex
	values map[string][]byte
}

// NewVault returns an empty vault.
func NewVault() *Vault { return &Vault{values: map[string][]byte{}} }

// Get implements pki.Vault.
func (v *Vault) Get(_ context.Context, key string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.values[key], nil
}

// Put implements pki.Vault.
func (v *Vault) Put(_ context.Context, key string, value []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.values[key] = value
	return nil
}

// Delete implements pki.TokenVault.
func (v *Vault) Delete(_ context.Context, key string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.values, key)
	return nil
}

// CompareAndDelete implements pki.TokenVault.
func (v *Vault) CompareAndDelete(_ context.Context, key string, value []byte) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if stored, ok := v.values[key]; !ok || !bytes.Equal(stored, value) {
		return false, nil
	}
	delete(v.values, key)
	return true, nil
}

// All implements pki.TokenVault.
func (v *Vault) All(context.Context) (map[string][]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.values), nil
}
