package store

import (
	"errors"
	"testing"
)

func TestVaultKeepsValuesOverAReopening(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), config(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Vault("a").Put(t.Context(), "key", []byte("value")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	vault := open(t, dir).Vault("a")
	if value, err := vault.Get(t.Context(), "key"); err != nil || string(value) != "value" {
		t.Errorf("got %q, %v", value, err)
	}
}

func TestVaultsDoNotSeeEachOther(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.Vault("a").Put(t.Context(), "key", []byte("value")); err != nil {
		t.Fatal(err)
	}
	if value, err := s.Vault("b").Get(t.Context(), "key"); err != nil || value != nil {
		t.Errorf("got %q, %v; want nothing", value, err)
	}
	if all, err := s.Vault("b").All(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("got %v, %v; want nothing", all, err)
	}
}

func TestOnlyOneOfTwoTakesAValue(t *testing.T) {
	vault := open(t, t.TempDir()).Vault("a")
	if err := vault.Put(t.Context(), "key", []byte("value")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if got, err := vault.CompareAndDelete(t.Context(), "key", []byte("value")); err != nil || got != want {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	}
}

func TestVaultRefusesALargeValue(t *testing.T) {
	vault := open(t, t.TempDir()).Vault("a")
	if err := vault.Put(t.Context(), "key", make([]byte, maxVaultValueBytes+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}
