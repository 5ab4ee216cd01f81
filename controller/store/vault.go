package store

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	maxVaultValueBytes = 64 << 10
	maxVaultKeys       = 10_000 // that All returns
)

// Vault keeps small private values besides the objects: keys of the authority, tokens, sessions. They are in no View,
// and no watch shows them.
type Vault struct {
	store  *Store
	prefix string
}

// Vault returns the values with a prefix. Each prefix is a separate set of values.
func (s *Store) Vault(prefix string) *Vault {
	return &Vault{store: s, prefix: vaultPrefix + strings.Trim(prefix, "/") + "/"}
}

// Get returns nil if the key does not exist.
func (v *Vault) Get(ctx context.Context, key string) ([]byte, error) {
	reply, err := v.store.client.Get(ctx, v.prefix+key)
	if err != nil {
		return nil, v.store.explain(err)
	}
	if len(reply.Kvs) == 0 {
		return nil, nil
	}
	return reply.Kvs[0].Value, nil
}

// Put sets a value; it is on disk when Put returns.
func (v *Vault) Put(ctx context.Context, key string, value []byte) error {
	if len(value) > maxVaultValueBytes {
		return fmt.Errorf("%w: value of %s has %d bytes, at most %d", ErrTooLarge, key, len(value), maxVaultValueBytes)
	}
	if err := v.store.disk.check(); err != nil {
		return err
	}
	if _, err := v.store.client.Put(ctx, v.prefix+key, string(value)); err != nil {
		return v.store.explain(err)
	}
	return nil
}

// Delete removes a value. It does nothing if the key does not exist.
func (v *Vault) Delete(ctx context.Context, key string) error {
	if _, err := v.store.client.Delete(ctx, v.prefix+key); err != nil {
		return v.store.explain(err)
	}
	return nil
}

// CompareAndDelete deletes the key if it has this value, and returns whether it did.
func (v *Vault) CompareAndDelete(ctx context.Context, key string, value []byte) (bool, error) {
	reply, err := v.store.client.Txn(ctx).
		If(clientv3.Compare(clientv3.Value(v.prefix+key), "=", string(value))).
		Then(clientv3.OpDelete(v.prefix + key)).
		Commit()
	if err != nil {
		return false, v.store.explain(err)
	}
	return reply.Succeeded, nil
}

// All returns the first 10,000 values, sorted by key.
func (v *Vault) All(ctx context.Context) (map[string][]byte, error) {
	reply, err := v.store.client.Get(ctx, v.prefix, clientv3.WithPrefix(), clientv3.WithLimit(maxVaultKeys))
	if err != nil {
		return nil, v.store.explain(err)
	}
	values := make(map[string][]byte, len(reply.Kvs))
	for _, kv := range reply.Kvs {
		values[strings.TrimPrefix(string(kv.Key), v.prefix)] = kv.Value
	}
	return values, nil
}
