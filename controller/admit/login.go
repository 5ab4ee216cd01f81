package admit

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const maxUsernameBytes = 256

// Credentials are what somebody logs in with: a password or a user token.
type Credentials struct{ Username, Password, Token string }

// Login opens a session. Errors: ErrInvalidCredentials, *Throttled, ErrBusy.
func (g *Gate) Login(ctx context.Context, c Credentials, address string) (Session, Principal, error) {
	who, err := g.prove(ctx, c, address)
	if err != nil {
		g.Audit.add(Entry{User: c.Username, Address: address, Action: "login", Kind: userKind}, err)
		return Session{}, Principal{}, err
	}
	session, err := g.Sessions.Start(ctx, who.UUID, who.mark)
	g.Audit.add(Entry{User: who.Name, Address: address, Action: "login", Kind: userKind, Object: who.UUID}, err)
	who.SessionID = session.ID
	return session, who, err
}

// Basic recognises a request that carries its password, where the system configuration allows that.
func (g *Gate) Basic(ctx context.Context, username, password, address string) (Principal, error) {
	if !basicAllowed(g.store.View()) {
		return Principal{}, ErrNotLoggedIn
	}
	return g.prove(ctx, Credentials{Username: username, Password: password}, address)
}

// Resume recognises a request by its session.
func (g *Gate) Resume(ctx context.Context, sessionID, address string) (Session, Principal, error) {
	session, err := g.Sessions.Resume(ctx, sessionID)
	if err != nil {
		return Session{}, Principal{}, err
	}
	who, ok := principalOf(g.store.View(), session.UserUUID, address)
	if !ok || who.mark != session.Mark {
		g.Sessions.End(ctx, sessionID)
		return Session{}, Principal{}, ErrNotLoggedIn
	}
	who.SessionID = sessionID
	return session, who, nil
}

// Logout ends the session of a request.
func (g *Gate) Logout(ctx context.Context, who Principal) {
	g.Sessions.End(ctx, who.SessionID)
	g.Audit.add(Entry{User: who.Name, Address: who.Address, Action: "logout", Kind: userKind, Object: who.UUID}, nil)
}

// Account is what users may change of themselves.
type Account struct {
	FullName    string
	OldPassword string
	Password    string
}

// ChangeAccount sets a new password and ends the sessions and tokens of the old one.
func (g *Gate) ChangeAccount(ctx context.Context, who Principal, account Account) error {
	err := g.changeAccount(ctx, who, account)
	g.Audit.add(Entry{User: who.Name, Address: who.Address, Action: "change", Kind: "useraccount", Object: who.UUID}, err)
	if err == nil {
		g.endLogins(ctx, who.UUID)
	}
	return err
}

// endLogins forgets what the password that is gone has opened. It is over already: marks no longer fit.
func (g *Gate) endLogins(ctx context.Context, userUUID string) {
	ctx = context.WithoutCancel(ctx) // the change is made, whether or not its client waits
	g.Sessions.EndAll(ctx, userUUID)
	g.Tokens.RevokeAll(ctx, userUUID)
}

func (g *Gate) changeAccount(ctx context.Context, who Principal, account Account) error {
	if _, err := g.prove(ctx, Credentials{Username: who.Name, Password: account.OldPassword}, who.Address); err != nil {
		if errors.Is(err, ErrInvalidCredentials) {
			return &schema.FieldError{Kind: "useraccount", Field: "old_password", Problem: "is wrong"}
		}
		return err
	}
	if problem := weakPassword(account.Password, shortestPassword(g.store.View())); problem != "" {
		return &schema.FieldError{Kind: "useraccount", Field: "password", Problem: problem}
	}
	var chores chores
	return g.update(ctx, &chores, func(tx *store.Tx) error {
		stored, ok := tx.View().Get(userKind, who.UUID)
		if !ok {
			return &NotFound{"User"}
		}
		hash, err := chores.hash(account.Password)
		if err != nil {
			return err
		}
		next := *stored
		next.Object = schema.Clone(stored.Object)
		next.Object["password"] = hash
		if account.FullName != "" {
			next.Object["full_name"] = account.FullName
		}
		tx.Put(&next)
		return nil
	})
}

// prove finds out whether credentials are good, no faster for a guesser than for a user.
func (g *Gate) prove(ctx context.Context, c Credentials, address string) (who Principal, err error) {
	if len(c.Username) > maxUsernameBytes {
		return Principal{}, ErrInvalidCredentials
	}
	leave, err := g.logins.enter()
	if err != nil {
		return Principal{}, err
	}
	defer leave()
	err = g.throttle.attempt(attempt{c.Username, address}, func() (err error) {
		who, err = g.match(ctx, c, address)
		return err
	})
	return who, err
}

func (g *Gate) match(ctx context.Context, c Credentials, address string) (Principal, error) {
	view := g.store.View()
	user, known := userNamed(view, c.Username)
	var principal Principal
	active := false
	if known {
		principal, active = principalOf(view, user.UUID, address)
	}
	var err error
	if c.Token != "" {
		err = g.Tokens.OpensFor(ctx, principal, c.Token)
	} else {
		err = g.matchPassword(ctx, user, c.Password)
	}
	if err == nil && !active {
		err = ErrInvalidCredentials
	}
	return principal, err
}

// matchPassword takes as long for a user that is not there (nil) as for one with another password.
func (g *Gate) matchPassword(ctx context.Context, user *store.Record, password string) error {
	hash, matches := "", false
	if user != nil {
		hash = textOf(user.Object, "password")
	}
	err := g.logins.work(ctx, func() { matches = passwordMatches(hash, password) })
	if err == nil && !matches {
		return ErrInvalidCredentials
	}
	return err
}

func userNamed(view *store.View, username string) (*store.Record, bool) {
	for _, record := range view.List(userKind) {
		if textOf(record.Object, "username") == username {
			return record, true
		}
	}
	return nil, false
}

// hidePassword replaces a password that was sent by its hash; one that was kept is a hash already.
func (g *Gate) hidePassword(w Write, next, stored schema.Object) error {
	sent := textOf(next, "password")
	if w.Kind.Name != userKind || sent == "" || sent == textOf(stored, "password") {
		return nil
	}
	if problem := weakPassword(sent, shortestPassword(g.store.View())); problem != "" {
		return &schema.FieldError{Kind: userKind, Field: "password", Problem: problem}
	}
	hash, err := w.chores.hash(sent)
	if err == nil {
		next["password"] = hash
	}
	return err
}

func basicAllowed(view *store.View) bool {
	allowed, _ := portalOf(view)["allow_basic_authentication"].(bool)
	return allowed
}

func shortestPassword(view *store.View) int64 {
	if length, ok := portalOf(view)["minimum_password_length"].(int64); ok {
		return length
	}
	return minPasswordRunes
}

// portalOf is how the system configuration wants logins to be.
func portalOf(view *store.View) schema.Object {
	record, ok := view.Get(systemKind, "default")
	if !ok {
		return nil
	}
	portal, _ := record.Object["portal_configuration"].(schema.Object)
	return portal
}

const minPasswordRunes = 8

func weakPassword(password string, shortest int64) string {
	switch {
	case int64(utf8.RuneCountInString(password)) < shortest:
		return fmt.Sprintf("is too short; give at least %d characters", shortest)
	case len(password) > maxPasswordBytes:
		return fmt.Sprintf("is too long; give at most %d bytes", maxPasswordBytes)
	}
	return ""
}
