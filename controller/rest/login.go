package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// login reads a form (the Python SDK) or JSON (Go, Java).
func login(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	credentials, err := parseCredentials(c.r.Header.Get("Content-Type"), body)
	if err != nil {
		return err
	}
	session, who, err := c.api.gate.Login(c.r.Context(), credentials, c.address())
	if err != nil {
		return err
	}
	c.conn.Trust()
	c.who = who
	c.view = c.api.store.View()
	c.setCSRFCookie(session.CSRF)
	c.setSessionCookies(session.ID)
	return c.reply(http.StatusOK, c.welcome())
}

func parseCredentials(contentType string, body []byte) (admit.Credentials, error) {
	if !strings.HasPrefix(contentType, "application/x-www-form-urlencoded") {
		var sent struct{ Username, Password, Token string }
		if err := json.Unmarshal(body, &sent); err != nil {
			return admit.Credentials{}, badLogin("is neither a form nor JSON", err)
		}
		return admit.Credentials(sent), nil
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return admit.Credentials{}, badLogin("is not a form", err)
	}
	return admit.Credentials{Username: form.Get("username"), Password: form.Get("password"), Token: form.Get("token")},
		nil
}

func badLogin(problem string, err error) error {
	return &schema.FieldError{Kind: "login", Problem: fmt.Sprintf("the body %s: %v", problem, err)}
}

func (c *call) welcome() schema.Object {
	return schema.Object{
		"user_initialized":    true,
		"version":             c.api.cluster.product(),
		"user":                c.account(),
		"tenants":             c.tenants(),
		"system_config":       c.systemConfiguration(),
		"controller":          schema.Object{"api_idle_timeout": int(admit.IdleTimeout.Minutes())},
		"session_cookie_name": sessionCookie,
	}
}

func (c *call) account() schema.Object {
	account := schema.Object{"is_superuser": c.who.Superuser, "username": c.who.Name, "name": c.who.Name,
		"full_name": "", "email": "", "local": true, "uuid": c.who.UUID, "ui_property": "",
		"default_tenant_ref": ""}
	if record, ok := c.view.Get("user", c.who.UUID); ok {
		for _, field := range []string{"name", "full_name", "email", "ui_property", "default_tenant_ref"} {
			if value, ok := record.Object[field]; ok {
				account[field] = c.absoluteIn(field, value)
			}
		}
		account["access"] = c.roles(record)
	}
	account["weir_privileges"] = c.privileges()
	return account
}

// roles are the entries of a user's access, with the names of roles and tenants.
func (c *call) roles(user *store.Record) []any {
	kind, _ := schema.Lookup("user")
	style := rendering{names: true, fields: []string{"access"}}
	roles, _ := c.render(kind, user, style)["access"].([]any)
	return append([]any{}, roles...)
}

// tenants returns the tenants that the user has access to.
func (c *call) tenants() []schema.Object {
	tenants := []schema.Object{}
	for _, record := range c.view.List("tenant") {
		if !c.who.Knows(record) {
			continue
		}
		tenants = append(tenants, schema.Object{"uuid": record.UUID, "name": record.Name, "local": true,
			"url": c.origin() + schema.RefPath("tenant", record.UUID)})
	}
	return tenants
}

func (c *call) systemConfiguration() schema.Object {
	kind, known := schema.Lookup("systemconfiguration")
	record, ok := c.view.Get("systemconfiguration", "default")
	if !known || !ok {
		return schema.Object{}
	}
	if c.who.Access(kind.Permission, admit.Everywhere) < admit.ReadAccess && c.who.Access(kind.Permission,
		admit.Tenant{UUID: admit.AdminTenant}) < admit.ReadAccess {
		return c.render(kind, record, rendering{fields: []string{"welcome_workflow_complete"}})
	}
	return c.render(kind, record, rendering{})
}

// logout ends the sessions of all cookies of the request. If one were left, the next request would be logged in again.
func logout(c *call) error {
	if err := c.api.gate.Logout(c.r.Context(), c.who); err != nil {
		return err
	}
	for _, id := range c.sessionIDs() {
		if err := c.api.gate.Sessions.End(c.r.Context(), id); err != nil {
			return err
		}
	}
	c.w.Header().Del("Set-Cookie")
	return c.reply(http.StatusOK, schema.Object{})
}

func showAccount(c *call) error { return c.reply(http.StatusOK, c.account()) }

func changeAccount(c *call) error {
	sent, err := c.object("useraccount")
	if err != nil {
		return err
	}
	text := func(field string) string { value, _ := sent[field].(string); return value }
	if name := text("username"); name != "" && name != c.who.Name {
		return &schema.FieldError{Kind: "useraccount", Field: "username",
			Problem: "cannot change; only your own account can"}
	}
	err = c.api.gate.ChangeAccount(c.r.Context(), c.who, admit.Account{
		FullName: text("full_name"), OldPassword: text("old_password"), Password: text("password")})
	if err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusOK)
	return nil
}
