package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// purgeURIsMost bounds the URIs of one request.
const purgeURIsMost = 32

type purgeRequest struct {
	URIs   []string `json:"uris"`
	Prefix bool     `json:"prefix"` // all paths that begin with those of the URIs
}

// purge answers "POST /api/virtualservice/<uuid>/purge" with what is purged of the cache: all, or some URIs.
func purge(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	asked, err := readPurgeRequest(body)
	if err != nil {
		return err
	}
	var all bool
	kind, _ := schema.Lookup("virtualservice")
	err = c.api.gate.Act(c.r.Context(), c.write(kind), c.path[2], "purge",
		func(tx *admit.Tx, vs *store.Record) (err error) {
			all, err = c.api.orders.Purge(tx, vs.UUID, asked.URIs, asked.Prefix)
			return err
		})
	if err != nil {
		return err
	}
	c.tellRevision()
	return c.reply(http.StatusOK, schema.Object{"uuid": c.path[2], "all": all})
}

func readPurgeRequest(body []byte) (asked purgeRequest, err error) {
	const action = "purge"
	if len(body) == 0 {
		return asked, nil
	}
	said, err := schema.Parse(action, body)
	if err != nil {
		return asked, err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return asked, &schema.FieldError{Kind: action, Problem: "the body does not fit this action: " +
			strings.TrimPrefix(err.Error(), "json: ")}
	}
	switch _, saysURIs := said["uris"]; {
	case saysURIs && len(asked.URIs) == 0:
		return asked, &schema.FieldError{Kind: action, Field: "uris", Problem: "is empty: leave it out to purge all"}
	case len(asked.URIs) > purgeURIsMost:
		return asked, &schema.FieldError{Kind: action, Field: "uris",
			Problem: "has more than 32 URIs: purge a prefix, " +
				"or send several requests"}
	case asked.Prefix && asked.URIs == nil:
		return asked, &schema.FieldError{Kind: action, Field: "prefix",
			Problem: "needs uris: leave it out to purge all"}
	}
	return asked, nil
}
