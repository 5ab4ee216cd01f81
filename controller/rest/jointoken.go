package rest

import (
	"net/http"

	"github.com/weir-lb/weir/controller/schema"
)

// createJoinToken makes a token with which one engine can join.
func createJoinToken(c *call) error {
	token, err := c.api.tokens.Issue(c.r.Context())
	if err != nil {
		return err
	}
	c.api.gate.Audit.Note(c.who, "create", "securetoken", "", nil)
	return c.reply(http.StatusOK, schema.Object{"auth_token": token, "weir_engine_port": c.api.enginePort})
}
