package admit

import (
	"context"
	"errors"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// Account is what users may change about themselves.
type Account struct {
	FullName    string
	OldPassword string
	Password    string
}

// ChangeAccount sets a new password. It ends the sessions and tokens that the old password opened, except the session
// of this request.
func (g *Gate) ChangeAccount(ctx context.Context, who Principal, account Account) error {
	err := g.changeAccount(ctx, who, account)
	g.Audit.add(Entry{User: who.Name, Address: who.Address, Action: "change", Kind: "useraccount", Object: who.UUID},
		err)
	if err == nil {
		g.endLogins(ctx, who.UUID, who.SessionID)
	}
	return err
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
		g.Sessions.Expect(who.SessionID, hashOf(hash))
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
