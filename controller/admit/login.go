package admit

import (
	"context"

	"github.com/weir-lb/weir/controller/port"
	"github.com/weir-lb/weir/controller/store"
)

const maxUsernameBytes = 256

// Credentials are a name with a password or a user token.
type Credentials struct{ Username, Password, Token string }

// Login opens a session. Errors: ErrInvalidCredentials, *Throttled, ErrBusy.
func (g *Gate) Login(ctx context.Context, c Credentials, address string) (Session, Principal, error) {
	who, err := g.prove(ctx, c, address)
	if err != nil {
		g.Audit.add(Entry{User: c.Username, Address: address, Action: "login", Kind: userKind}, err)
		return Session{}, Principal{}, err
	}
	token := ""
	if c.Token != "" {
		token = tokenID(c.Token)
	}
	session, err := g.Sessions.Start(ctx, who.UUID, who.mark, token)
	if err == nil && token != "" {
		if _, err = g.Tokens.find(ctx, c.Token); err != nil { // it was revoked meanwhile
			_ = g.Sessions.End(context.WithoutCancel(ctx), session.ID)
			session = Session{}
		}
	}
	g.Audit.add(Entry{User: who.Name, Address: address, Action: "login", Kind: userKind, Object: who.UUID}, err)
	who.SessionID = session.ID
	return session, who, err
}

// Basic finds the user of a request with basic authentication, if the system configuration allows that.
func (g *Gate) Basic(ctx context.Context, username, password, address string) (Principal, error) {
	if !basicAllowed(g.store.View()) {
		return Principal{}, ErrNotLoggedIn
	}
	return g.prove(ctx, Credentials{Username: username, Password: password}, address)
}

// Bearer finds the user of a request with a user token, which programs send that do not log in, such as Prometheus.
// Errors: ErrInvalidCredentials, ErrBusy.
func (g *Gate) Bearer(ctx context.Context, secret, address string) (Principal, error) {
	giveBack, err := g.bearers.take(port.HolderOf(address))
	if err != nil {
		return Principal{}, err
	}
	defer giveBack()
	return g.bearer(ctx, secret, address)
}

func (g *Gate) bearer(ctx context.Context, secret, address string) (Principal, error) {
	token, err := g.Tokens.find(ctx, secret)
	if err != nil {
		return Principal{}, err
	}
	who, active := principalOf(g.store.View(), token.UserUUID, address)
	if !active || !token.fits(who) {
		return Principal{}, ErrInvalidCredentials
	}
	who.bearer, who.byToken = secret, true
	return who, nil
}

// Resume finds the session and the user of a request, and notes the use of the session.
func (g *Gate) Resume(ctx context.Context, sessionID, address string) (Session, Principal, error) {
	session, err := g.Sessions.Resume(ctx, sessionID)
	if err != nil {
		return Session{}, Principal{}, err
	}
	return g.holder(ctx, session, address)
}

// Look is Resume for a request that a program repeats by itself: it notes no use, so the session expires as if the
// program were not there.
func (g *Gate) Look(ctx context.Context, sessionID, address string) (Session, Principal, error) {
	session, err := g.Sessions.Look(sessionID)
	if err != nil {
		return Session{}, Principal{}, err
	}
	return g.holder(ctx, session, address)
}

// LookAgain returns the user of an earlier request with the rights of now. It notes no use of the session. Errors:
// ErrNotLoggedIn, ErrSessionExpired.
func (g *Gate) LookAgain(ctx context.Context, who Principal) (Principal, error) {
	if who.SessionID != "" {
		_, now, err := g.Look(ctx, who.SessionID, who.Address)
		return now, err
	}
	if who.bearer != "" {
		return g.bearer(ctx, who.bearer, who.Address)
	}
	view := g.store.View()
	now, ok := principalOf(view, who.UUID, who.Address)
	if !ok || now.mark != who.mark || !basicAllowed(view) {
		return Principal{}, ErrNotLoggedIn
	}
	return now, nil
}

// RevokeToken ends a token of a user, and the sessions that it opened; error: NotFound.
func (g *Gate) RevokeToken(ctx context.Context, userUUID, id string) error {
	if err := g.Tokens.Revoke(ctx, userUUID, id); err != nil {
		return err
	}
	g.Sessions.EndOfToken(context.WithoutCancel(ctx), id)
	return nil
}

// holder finds the user of a session.
func (g *Gate) holder(ctx context.Context, session Session, address string) (Session, Principal, error) {
	who, ok := principalOf(g.store.View(), session.UserUUID, address)
	if !ok || !session.Fits(who.mark) {
		_ = g.Sessions.End(ctx, session.ID) // it is invalid in any case
		return Session{}, Principal{}, ErrNotLoggedIn
	}
	who.SessionID, who.byToken = session.ID, session.TokenID != ""
	return session, who, nil
}

// Logout ends the session of a request. On error, the session goes on.
func (g *Gate) Logout(ctx context.Context, who Principal) error {
	err := g.Sessions.End(ctx, who.SessionID)
	g.Audit.add(Entry{User: who.Name, Address: who.Address, Action: "logout", Kind: userKind, Object: who.UUID}, err)
	return err
}

// endLogins removes the sessions and tokens that the old password of a user opened, except the session but (empty:
// all). They are invalid already, because their marks do not fit the new password.
func (g *Gate) endLogins(ctx context.Context, userUUID, but string) {
	ctx = context.WithoutCancel(ctx) // the password is changed, even if the client has gone
	g.Sessions.Renew(ctx, but)
	g.Sessions.EndAll(ctx, userUUID, but)
	g.Tokens.RevokeAll(ctx, userUUID)
}

// prove checks credentials. Its duration does not tell a guesser whether a user exists.
func (g *Gate) prove(ctx context.Context, c Credentials, address string) (who Principal, err error) {
	if len(c.Username) > maxUsernameBytes {
		return Principal{}, ErrInvalidCredentials
	}
	host := port.HolderOf(address)
	giveBack, err := g.shares.take(host)
	if err != nil {
		return Principal{}, err
	}
	defer giveBack()
	leave, err := g.logins.enter()
	if err != nil {
		return Principal{}, err
	}
	defer leave()
	err = g.throttle.attempt(attempt{c.Username, host}, func() (err error) {
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

// matchPassword takes as long for a user that does not exist (nil) as for a wrong password.
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
