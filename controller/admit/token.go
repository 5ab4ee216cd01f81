package admit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

const (
	maxTokens     = 1000 // of all users
	maxTokenHours = 24 * 365
)

// Token lets a program log in as a user without the password.
type Token struct {
	ID       string `json:"id"`
	UserUUID string `json:"user_uuid"`
	// mark of the password at that time; the token is void once the password has another mark
	Mark    string    `json:"mark"`
	Expires time.Time `json:"expires"`
}

// UserTokens are the tokens of all users. The vault contains only hashes of them.
type UserTokens struct {
	vault Vault
	now   func() time.Time
	log   *slog.Logger
}

// NewUserTokens returns the tokens of a vault that contains nothing else.
func NewUserTokens(vault Vault, now func() time.Time, log *slog.Logger) *UserTokens {
	return &UserTokens{vault: vault, now: now, log: log}
}

// Issue makes a token and returns its secret, which is not stored.
func (t *UserTokens) Issue(ctx context.Context, who Principal, hours int64) (string, Token, error) {
	if who.byToken {
		return "", Token{},
			&Forbidden{Reason: "A token makes no tokens, because they could outlive it: log in with the password"}
	}
	if hours < 1 || hours > maxTokenHours {
		return "", Token{}, &schema.FieldError{Kind: "user-token", Field: "hours",
			Problem: fmt.Sprintf("%d is out of range; give 1 to %d", hours, maxTokenHours)}
	}
	known, err := t.all(ctx)
	if err != nil {
		return "", Token{}, err
	}
	if len(known) >= maxTokens {
		return "", Token{}, &NotAllowed{fmt.Sprintf("There are %d user tokens already: delete some", maxTokens)}
	}
	secret := randomText()
	token := Token{ID: tokenID(secret), UserUUID: who.UUID, Mark: who.mark,
		Expires: t.now().Add(time.Duration(hours) * time.Hour)}
	value, err := json.Marshal(token)
	if err != nil {
		return "", Token{}, err
	}
	if err := t.vault.Put(ctx, token.ID, value); err != nil {
		return "", Token{}, fmt.Errorf("save user token: %w", err)
	}
	return secret, token, nil
}

// OpensFor checks that this is a valid token of the user, made under the user's current password. Error:
// ErrInvalidCredentials.
func (t *UserTokens) OpensFor(ctx context.Context, who Principal, secret string) error {
	token, err := t.find(ctx, secret)
	if err == nil && !token.fits(who) {
		err = ErrInvalidCredentials
	}
	return err
}

// fits tells whether a token was made for a user, under the user's current password.
func (t *Token) fits(who Principal) bool { return t.UserUUID == who.UUID && t.Mark == who.mark }

// find returns the token with a secret, if it has not expired. Error: ErrInvalidCredentials.
func (t *UserTokens) find(ctx context.Context, secret string) (Token, error) {
	value, err := t.vault.Get(ctx, tokenID(secret))
	if err != nil {
		return Token{}, fmt.Errorf("look up user token: %w", err)
	}
	var token Token
	if value == nil || json.Unmarshal(value, &token) != nil || t.now().After(token.Expires) {
		return Token{}, ErrInvalidCredentials
	}
	return token, nil
}

// List returns the valid tokens of a user, oldest first.
func (t *UserTokens) List(ctx context.Context, userUUID string) ([]Token, error) {
	all, err := t.all(ctx)
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(all, func(token Token) bool { return token.UserUUID != userUUID })
	slices.SortFunc(own, func(a, b Token) int { return a.Expires.Compare(b.Expires) })
	return own, nil
}

// Revoke ends a token of a user; error: NotFound.
func (t *UserTokens) Revoke(ctx context.Context, userUUID, id string) error {
	own, err := t.List(ctx, userUUID)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(own, func(token Token) bool { return token.ID == id }) {
		return &NotFound{"UserToken"}
	}
	return t.vault.Delete(ctx, id)
}

// RevokeAll deletes the tokens of a user. If the vault fails, a token that stays is invalid under the new password.
func (t *UserTokens) RevokeAll(ctx context.Context, userUUID string) {
	own, err := t.List(ctx, userUUID)
	for _, token := range own {
		err = errors.Join(err, t.vault.Delete(ctx, token.ID))
	}
	if err != nil {
		t.log.Warn("tokens of a user were not removed from disk", "user", userUUID, "error", err)
	}
}

// all returns the valid tokens and deletes the expired ones.
func (t *UserTokens) all(ctx context.Context) ([]Token, error) {
	values, err := t.vault.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("load user tokens: %w", err)
	}
	var good []Token
	for id, value := range values {
		var token Token
		if json.Unmarshal(value, &token) == nil && t.now().Before(token.Expires) {
			good = append(good, token)
			continue
		}
		if err := t.vault.Delete(ctx, id); err != nil {
			return nil, fmt.Errorf("remove expired user token: %w", err)
		}
	}
	return good, nil
}

func tokenID(secret string) string { return "usertoken-" + strings.ToLower(hashOf(secret)[:32]) }
