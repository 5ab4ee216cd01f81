package rest

import (
	"net/http"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
)

// showAudit lists who did what, newest first.
func showAudit(c *call) error {
	if !c.who.Superuser {
		return &admit.Forbidden{Reason: "User " + c.who.Name + " may not read the audit trail"}
	}
	entries := c.api.gate.Audit.Entries()
	return c.reply(http.StatusOK, schema.Object{"count": len(entries), "results": entries})
}
