package rest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
)

const defaultTokenHours = 1

// createToken makes a token that logs in as the user of the request, for `{"hours": "2"}`.
func createToken(c *call) error {
	sent, err := c.object("user-token")
	if err != nil {
		return err
	}
	hours, err := hoursOf(sent)
	if err != nil {
		return err
	}
	secret, token, err := c.api.gate.Tokens.Issue(c.r.Context(), c.who, hours)
	if err != nil {
		return err
	}
	shown := c.showToken(token)
	shown["token"] = secret
	return c.reply(http.StatusOK, shown)
}

func hoursOf(sent schema.Object) (int64, error) {
	value, ok := sent["hours"]
	if !ok {
		return defaultTokenHours, nil
	}
	hours, err := strconv.ParseInt(fmt.Sprint(value), 10, 64)
	if err != nil {
		return 0, &schema.FieldError{Kind: "user-token", Field: "hours",
			Problem: fmt.Sprintf("%v is not a whole number", value)}
	}
	return hours, nil
}

func listTokens(c *call) error {
	tokens, err := c.api.gate.Tokens.List(c.r.Context(), c.who.UUID)
	if err != nil {
		return err
	}
	results := []schema.Object{}
	for _, token := range tokens {
		results = append(results, c.showToken(token))
	}
	return c.reply(http.StatusOK, schema.Object{"count": len(results), "results": results})
}

func revokeToken(c *call) error {
	if err := c.api.gate.RevokeToken(c.r.Context(), c.who.UUID, c.path[2]); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (c *call) showToken(token admit.Token) schema.Object {
	return schema.Object{"uuid": token.ID, "url": c.origin() + "/api/user-token/" + token.ID, "username": c.who.Name,
		"expires_at": token.Expires.UTC().Format(time.RFC3339)}
}
