package admit

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const firstPassword, secondPassword = "first password", "second password"

// admin logs in without opening a session.
func (g *Gate) admin(t *testing.T) Principal {
	t.Helper()
	who, err := g.prove(t.Context(), Credentials{Username: "admin", Password: firstPassword}, "")
	if err != nil {
		t.Fatal(err)
	}
	return who
}

func TestLoginInFlightDoesNotOutliveThePassword(t *testing.T) {
	gate := openGate(t)
	slow := gate.admin(t)
	if err := gate.ChangeAccount(t.Context(), gate.admin(t),
		Account{OldPassword: firstPassword, Password: secondPassword}); err != nil {
		t.Fatal(err)
	}
	session, err := gate.Sessions.Start(t.Context(), slow.UUID, slow.mark, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := gate.Resume(t.Context(), session.ID, ""); !errors.Is(err, ErrNotLoggedIn) {
		t.Errorf("got %v", err)
	}
	if len(gate.Sessions.byHash) != 0 {
		t.Error("the session is kept")
	}
}

func TestSessionThatSetsAPasswordIsGoodAtEachMoment(t *testing.T) {
	gate := openGate(t)
	session, who, err := gate.Login(t.Context(), Credentials{Username: "admin", Password: firstPassword}, "")
	if err != nil {
		t.Fatal(err)
	}
	hash := hashPassword(secondPassword)
	gate.Sessions.Expect(session.ID, hashOf(hash))
	resumes := func(when string) {
		t.Helper()
		if _, _, err := gate.Resume(t.Context(), session.ID, ""); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	resumes("before the password is set")
	gate.alter(t, func(tx *store.Tx) {
		user, _ := tx.View().Get(userKind, who.UUID)
		next := *user
		next.Object = schema.Clone(user.Object)
		next.Object["password"] = hash
		tx.Put(&next)
	})
	resumes("when it is set")
	gate.endLogins(t.Context(), who.UUID, session.ID)
	resumes("when others have ended")
}

func TestUserTokensEndWithThePassword(t *testing.T) {
	gate := openGate(t)
	who := gate.admin(t)
	early, _, err := gate.Tokens.Issue(t.Context(), who, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := gate.Login(t.Context(), Credentials{Username: "admin", Token: early}, ""); err != nil {
		t.Fatal(err)
	}
	if err := gate.ChangeAccount(t.Context(), who, Account{OldPassword: firstPassword,
		Password: secondPassword}); err != nil {
		t.Fatal(err)
	}
	if left, err := gate.Tokens.List(t.Context(), who.UUID); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	late, _, err := gate.Tokens.Issue(t.Context(), who, 1) // by a request that was in progress
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{early, late} {
		if _, _, err := gate.Login(t.Context(), Credentials{Username: "admin", Token: secret}, ""); !errors.Is(err,
			ErrInvalidCredentials) {
			t.Errorf("got %v", err)
		}
	}
}

func TestGuesserIsPausedWhicheverIPv6AddressOfItsNetworkItUses(t *testing.T) {
	gate := openGate(t)
	var err error
	for i := range freeFailures + 1 {
		_, _, err = gate.Login(t.Context(), Credentials{Username: "admin", Password: "a guess"},
			fmt.Sprintf("2001:db8::%x", i+1))
	}
	if _, paused := errors.AsType[*Throttled](err); !paused {
		t.Errorf("after %d guesses: %v", freeFailures+1, err)
	}
	if _, _, err := gate.Login(t.Context(), Credentials{Username: "admin", Password: firstPassword},
		"2001:db8:0:1::1"); err != nil {
		t.Errorf("another network: %v", err)
	}
}
