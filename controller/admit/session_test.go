package admit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"
)

// shelf is a vault in a map.
type shelf struct {
	mutex  sync.Mutex
	values map[string][]byte
	broken error
	before func() // runs before each Put
}

func (v *shelf) Get(_ context.Context, key string) ([]byte, error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.values[key], v.broken
}

func (v *shelf) Put(_ context.Context, key string, value []byte) error {
	if v.before != nil {
		v.before()
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.broken == nil {
		v.values[key] = value
	}
	return v.broken
}

func (v *shelf) Delete(ctx context.Context, key string) error {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	delete(v.values, key)
	return v.broken
}

func (v *shelf) All(context.Context) (map[string][]byte, error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return maps.Clone(v.values), v.broken
}

func openSessions(t *testing.T, vault Vault, now func() time.Time) *Sessions {
	t.Helper()
	sessions, err := OpenSessions(t.Context(), vault, now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return sessions
}

func TestSessionIDIsNotInTheVault(t *testing.T) {
	vault := &shelf{values: map[string][]byte{}}
	session, err := openSessions(t, vault, standing(time.Unix(1000, 0))).Start(t.Context(), "user-1", "mark", "")
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range vault.values {
		if key == session.ID || string(value) == session.ID {
			t.Error("who reads the database can take over the session")
		}
	}
	if session.ID == session.CSRF || len(session.ID) < 32 {
		t.Errorf("weak session %+v", session)
	}
}

func TestSessionEndsADayAfterItsLogin(t *testing.T) {
	now := time.Unix(1000, 0)
	vault := &shelf{values: map[string][]byte{}}
	sessions := openSessions(t, vault, func() time.Time { return now })
	session, err := sessions.Start(t.Context(), "user-1", "mark", "")
	if err != nil {
		t.Fatal(err)
	}
	for end := now.Add(SessionLifetime); now.Before(end); now = now.Add(IdleTimeout) {
		if _, err := sessions.Resume(t.Context(), session.ID); err != nil {
			t.Fatalf("after %v: %v", now.Sub(time.Unix(1000, 0)), err)
		}
	}
	now = now.Add(time.Second)
	if _, err := sessions.Resume(t.Context(), session.ID); !errors.Is(err, ErrSessionExpired) {
		t.Errorf("got %v", err)
	}
	if len(vault.values) != 0 {
		t.Error("the ended session is still in the vault")
	}
}

func TestOldestSessionEndsWhenThereAreTooMany(t *testing.T) {
	now := time.Unix(1000, 0)
	vault := &shelf{values: map[string][]byte{}}
	sessions := openSessions(t, vault, func() time.Time { return now })
	first, err := sessions.Start(t.Context(), "user-1", "mark", "")
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	for range maxSessions {
		if _, err := sessions.Start(t.Context(), "user-2", "mark", ""); err != nil {
			t.Fatal(err)
		}
	}
	if len(sessions.byHash) != maxSessions || len(vault.values) != maxSessions {
		t.Errorf("%d sessions, %d in the vault; want %d", len(sessions.byHash), len(vault.values), maxSessions)
	}
	if _, err := sessions.Resume(t.Context(), first.ID); !errors.Is(err, ErrNotLoggedIn) {
		t.Errorf("the oldest answers %v", err)
	}
}

func TestSessionThatCannotBeRemovedGoesOn(t *testing.T) {
	vault := &shelf{values: map[string][]byte{}}
	sessions := openSessions(t, vault, standing(time.Unix(1000, 0)))
	session, err := sessions.Start(t.Context(), "user-1", "mark", "")
	if err != nil {
		t.Fatal(err)
	}
	vault.broken = errors.New("disk on fire")
	if err := sessions.End(t.Context(), session.ID); !errors.Is(err, vault.broken) {
		t.Errorf("got %v", err)
	}
	vault.broken = nil
	if _, err := sessions.Resume(t.Context(), session.ID); err != nil {
		t.Errorf("after that: %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := sessions.End(gone, session.ID); err != nil || len(vault.values) != 0 {
		t.Errorf("by a client that has gone: %v; %d are in the vault", err, len(vault.values))
	}
	if _, err := sessions.Resume(t.Context(), session.ID); !errors.Is(err, ErrNotLoggedIn) {
		t.Errorf("the ended session answers %v", err)
	}
}

func TestEndAllEndsTheSessionsOfOneUser(t *testing.T) {
	sessions := openSessions(t, &shelf{values: map[string][]byte{}}, standing(time.Unix(1000, 0)))
	one, _ := sessions.Start(t.Context(), "user-1", "mark", "")
	other, _ := sessions.Start(t.Context(), "user-2", "mark", "")
	sessions.EndAll(t.Context(), "user-1", "")
	if _, err := sessions.Resume(t.Context(), one.ID); !errors.Is(err, ErrNotLoggedIn) {
		t.Errorf("an ended session answers %v", err)
	}
	if _, err := sessions.Resume(t.Context(), other.ID); err != nil {
		t.Errorf("another user's session answers %v", err)
	}
}

func TestSessionEndedWhileItsUseIsSavedStaysEnded(t *testing.T) {
	now := time.Unix(1000, 0)
	vault := &shelf{values: map[string][]byte{}}
	sessions := openSessions(t, vault, func() time.Time { return now })
	session, err := sessions.Start(t.Context(), "user-1", "mark", "")
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(saveInterval)
	vault.before = func() { sessions.EndAll(t.Context(), "user-1", "") }
	if _, err := sessions.Resume(t.Context(), session.ID); err != nil {
		t.Fatal(err)
	}
	if len(vault.values) != 0 {
		t.Error("it comes back with the next start")
	}
}

func TestNoSessionStartsThatWouldNotSurvive(t *testing.T) {
	vault := &shelf{values: map[string][]byte{}}
	sessions := openSessions(t, vault, standing(time.Unix(1000, 0)))
	vault.broken = errors.New("disk on fire")
	if _, err := sessions.Start(t.Context(), "user-1", "mark", ""); !errors.Is(err, vault.broken) {
		t.Errorf("got %v", err)
	}
	if len(sessions.byHash) != 0 {
		t.Error("the session is open all the same")
	}
}

func TestTokensAreBoundedAndForgottenWhenExpired(t *testing.T) {
	now := time.Unix(1000, 0)
	vault := &shelf{values: map[string][]byte{}}
	tokens := NewUserTokens(vault, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	_, token, err := tokens.Issue(t.Context(), Principal{UUID: "user-1"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < maxTokens; i++ {
		vault.values[fmt.Sprint(i)] = vault.values[token.ID]
	}
	var refused *NotAllowed
	if _, _, err := tokens.Issue(t.Context(), Principal{UUID: "user-1"}, 1); !errors.As(err, &refused) {
		t.Errorf("one too many: %v", err)
	}
	now = now.Add(2 * time.Hour)
	if _, _, err := tokens.Issue(t.Context(), Principal{UUID: "user-1"}, 1); err != nil {
		t.Errorf("after the others expired: %v", err)
	}
	if len(vault.values) != 1 {
		t.Errorf("%d tokens in the vault, want 1", len(vault.values))
	}
}

func TestAuditKeepsTheNewestAndBoundsWhatClientsChose(t *testing.T) {
	audit := NewAudit(slog.New(slog.DiscardHandler), standing(time.Unix(1000, 0)))
	for i := range maxEntries + 3 {
		audit.add(Entry{User: "u", Object: string(rune('a' + i%26)), Action: "create"}, nil)
	}
	audit.add(Entry{User: string(make([]byte, 1<<20))}, errors.New("no"))
	entries := audit.Entries()
	if len(entries) != maxEntries || entries[0].Refused != "no" ||
		entries[1].Object != string(rune('a'+(maxEntries+2)%26)) {
		t.Errorf("%d entries, newest %q then %q", len(entries), entries[0].Refused, entries[1].Object)
	}
	if n := len(entries[0].User); n > maxTextBytes+3 {
		t.Errorf("a name of %d bytes is kept", n)
	}
}
