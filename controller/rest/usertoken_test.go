package rest

import (
	"net/http"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func TestTokenMakesNoTokens(t *testing.T) {
	h := newHouse(t)
	secret := h.login().want(http.StatusOK, "POST", "/api/user-token", schema.Object{"hours": "1"})["token"].(string)
	program := &client{h: h, header: http.Header{"Authorization": {"Bearer " + secret}}}
	program.want(http.StatusOK, "GET", "/api/pool", nil)
	session := h.loginWith(schema.Object{"username": "admin", "token": secret})
	for _, c := range []*client{program, session} {
		c.refused(http.StatusForbidden, "log in with the password", "POST", "/api/user-token",
			schema.Object{"hours": "9"})
	}
}
