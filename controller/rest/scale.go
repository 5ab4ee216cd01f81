package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// scaleRequest is the body of Avi's actions on a virtual service. All fields are optional. Weir ignores vip_id, because
// all addresses of a virtual service are on the same engines, and uuid, because the path has it.
type scaleRequest struct {
	UUID           string `json:"uuid"`
	VipID          string `json:"vip_id"`
	ToRef          string `json:"to_se_ref"`
	FromRef        string `json:"from_se_ref"`
	ScaleinPrimary bool   `json:"scalein_primary"`
	ToNew          bool   `json:"to_new_se"`
	ToHostRef      string `json:"to_host_ref"`
	AdminDown      bool   `json:"admin_down"`
}

// readScaleRequest refuses unknown fields, and fields that have no effect on the action. Otherwise an operator would
// notice too late that a virtual service is not on the engine that the request named.
func readScaleRequest(verb place.Verb, body []byte) (asked scaleRequest, err error) {
	if len(body) == 0 {
		return asked, nil
	}
	if _, err := schema.Parse(string(verb), body); err != nil {
		return asked, err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return asked, &schema.FieldError{Kind: string(verb), Problem: "the body does not fit this action: " +
			strings.TrimPrefix(err.Error(), "json: ")}
	}
	seeks := verb == place.DoScaleOut || verb == place.DoMigrate
	comes, goes := seeks || verb == place.DoSwitchover, verb == place.DoScaleIn || verb == place.DoMigrate
	for _, said := range []struct {
		field         string
		given, heeded bool
	}{
		{"to_se_ref", asked.ToRef != "", comes},
		{"to_host_ref", asked.ToHostRef != "", seeks},
		{"to_new_se", asked.ToNew, seeks},
		{"from_se_ref", asked.FromRef != "", goes},
		{"scalein_primary", asked.ScaleinPrimary, verb == place.DoScaleIn},
		{"admin_down", asked.AdminDown, false},
	} {
		if said.given && !said.heeded {
			return asked, &schema.FieldError{Kind: string(verb), Field: said.field,
				Problem: "has no effect on this action: leave it out"}
		}
	}
	return asked, nil
}

// scale answers "POST /api/virtualservice/<uuid>/<verb>": with the runtime at the time when the order is accepted, and
// with the number of engines that are wanted now.
func scale(verb place.Verb) handler {
	return func(c *call) error {
		kind, _ := schema.Lookup(c.path[1])
		order, err := c.order(verb)
		if err != nil {
			return err
		}
		var engines int
		var tell func()
		err = c.api.gate.Act(c.r.Context(), c.write(kind), c.path[2], string(verb),
			func(tx *admit.Tx, vs *store.Record) (err error) {
				engines, tell, err = c.api.orders.Order(tx, vs.UUID, order)
				return err
			})
		if err != nil {
			return err
		}
		tell()
		record, err := c.reported()
		if err != nil {
			return err
		}
		runtime := c.runtimeOf(record)
		runtime["num_se_requested"] = int64(engines)
		return c.reply(http.StatusOK, c.withURLs(runtime))
	}
}

// rotateKeys answers "POST /api/virtualservice/<uuid>/rotatekeys" with the SSL profiles whose keys it has rotated.
func rotateKeys(c *call) error {
	var refs []any
	err := c.act("rotatekeys", func(tx *admit.Tx, vs *store.Record) error {
		profiles, err := c.api.orders.RotateKeys(tx, vs.UUID)
		if err != nil {
			return err
		}
		refs = nil
		for _, profile := range profiles {
			if err := c.mayTurn(tx.View(), profile); err != nil {
				return err
			}
			refs = append(refs, schema.RefPath("sslprofile", profile))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, c.withURLs(schema.Object{"ssl_profile_refs": refs}))
}

// mayTurn refuses new ticket keys to those who may not write the SSL profile: all virtual services with the profile
// have the same keys.
func (c *call) mayTurn(view *store.View, profile string) error {
	kind, _ := schema.Lookup("sslprofile")
	owner := admit.AdminTenant // also of a profile that is not there
	if record, known := view.Get(kind.Name, profile); known {
		owner = record.Tenant
	}
	return c.write(kind).MayWriteIn(view, owner)
}

// redistribute answers "POST /api/serviceenginegroup/<uuid>/redistribute" with the number of virtual services that it
// swaps with their standbys.
func redistribute(c *call) error {
	var moved int
	err := c.act("redistribute", func(tx *admit.Tx, group *store.Record) (err error) {
		moved, err = c.api.orders.Redistribute(tx, group.UUID)
		return err
	})
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, schema.Object{"uuid": c.path[2], "num_virtualservices": int64(moved)})
}

// act does an action without parameters on an object.
func (c *call) act(action string, do func(tx *admit.Tx, object *store.Record) error) error {
	body, err := c.body()
	if err == nil {
		_, err = readScaleRequest(place.Verb(action), body)
	}
	if err != nil {
		return err
	}
	kind, _ := schema.Lookup(c.path[1])
	return c.api.gate.Act(c.r.Context(), c.write(kind), c.path[2], action, do)
}

// scaleStatus answers "GET /api/virtualservice/<uuid>/scaleoutstatus" with the part of the runtime that is about
// orders.
func scaleStatus(c *call) error {
	record, err := c.reported()
	if err != nil {
		return err
	}
	return showReport(func(string) any {
		runtime, status := c.runtimeOf(record), schema.Object{}
		for _, field := range []string{
			"num_se_requested", "num_se_assigned", "scaleout_in_progress", "scalein_in_progress", "migrate_in_progress",
			"last_scale_status",
			"service_engine",
		} {
			if value, said := runtime[field]; said {
				status[field] = value
			}
		}
		return status
	})(c)
}

func (c *call) order(verb place.Verb) (place.Order, error) {
	order := place.Order{Verb: verb}
	body, err := c.body()
	if err != nil {
		return order, err
	}
	asked, err := readScaleRequest(verb, body)
	if err != nil {
		return order, err
	}
	if order.ToHost = hostNamed(asked.ToHostRef); asked.ToNew && (asked.ToRef != "" || order.ToHost != "") ||
		asked.ToRef != "" && order.ToHost != "" {
		return order, &schema.FieldError{Kind: string(verb), Field: "to_new_se",
			Problem: "give one of to_new_se, to_se_ref and to_host_ref"}
	}
	order.Primary, order.New = asked.ScaleinPrimary, asked.ToNew
	if order.To, err = c.engineNamed(verb, "to_se_ref", asked.ToRef); err != nil {
		return order, err
	}
	order.From, err = c.engineNamed(verb, "from_se_ref", asked.FromRef)
	return order, err
}

// hostNamed returns the name of the host in a reference. Hosts are not objects in Weir: an engine reports the host that
// it runs on.
func hostNamed(reference string) string {
	path, query, _ := strings.Cut(reference, "?")
	if values, err := url.ParseQuery(query); err == nil && values.Has("name") {
		return values.Get("name")
	}
	path, _, _ = strings.Cut(path, "#")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// engineNamed returns the uuid of the engine that a field refers to; empty: the field is empty.
func (c *call) engineNamed(verb place.Verb, field, reference string) (string, error) {
	if reference == "" {
		return "", nil
	}
	found, err := admit.Lookup(c.view, c.tenant, "serviceengine", reference)
	if err != nil {
		return "", &schema.FieldError{Kind: string(verb), Field: field, Problem: err.Error()}
	}
	return found.UUID, nil
}
