package rest

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// heard records orders and does nothing else. It refuses to scale in.
type heard struct {
	orders  []place.Order
	profile string // whose keys are rotated; empty: of one that is not there
	purged  []string
}

func (h *heard) Purge(_ *admit.Tx, _ string, uris []string, prefix bool) (bool, error) {
	h.purged = append(h.purged, fmt.Sprint(uris, prefix))
	return len(uris) == 0, nil
}

func (h *heard) Order(_ *admit.Tx, _ string, order place.Order) (engines int, tell func(), err error) {
	if order.Verb == place.DoScaleIn {
		return 0, nil, &place.Refusal{Field: "from_se_ref", Problem: "engine-9 does not serve web"}
	}
	h.orders = append(h.orders, order)
	return 2, func() {}, nil
}

func (h *heard) RotateKeys(*admit.Tx, string) ([]string, error) {
	if len(h.orders) > 0 {
		return nil, &place.Refusal{Field: "ssl_profile_ref", Problem: "web has no SSL profile"}
	}
	return []string{cmp.Or(h.profile, "sslprofile-1")}, nil
}

func (h *heard) Redistribute(*admit.Tx, string) (int, error) {
	if len(h.orders) > 0 {
		return 0, &place.Refusal{Field: "ha_mode", Problem: "group g is HA_MODE_SHARED"}
	}
	return 3, nil
}

func TestGroupIsRedistributedOrItIsSaidWhyNot(t *testing.T) {
	h := newHouse(t)
	orders := &heard{}
	h.api.orders = orders
	c := h.login()
	path := fmt.Sprintf("/api/serviceenginegroup/%v/redistribute",
		schema.BuiltinUUID("serviceenginegroup", "Default-Group"))
	if answer := c.want(http.StatusOK, "POST", path, nil); answer["num_virtualservices"] != 3.0 {
		t.Errorf("answered %v", answer)
	}
	c.refused(http.StatusBadRequest, "unknown field", "POST", path, schema.Object{"to": "engine-2"})
	orders.orders = []place.Order{{}}
	c.refused(http.StatusBadRequest, "ha_mode: group g is HA_MODE_SHARED", "POST", path, nil)
	c.want(http.StatusNotFound, "POST", "/api/serviceenginegroup/serviceenginegroup-none/redistribute", nil)
}

func TestKeysAreRotatedWhereThereAreAny(t *testing.T) {
	h := newHouse(t)
	orders := &heard{}
	h.api.orders = orders
	c := h.login()
	path := fmt.Sprintf("/api/virtualservice/%v/rotatekeys", c.virtualService("web", nil)["uuid"])
	if answer := c.want(http.StatusOK, "POST", path, schema.Object{"vip_id": "1"}); !strings.HasSuffix(
		fmt.Sprint(answer["ssl_profile_refs"]), "/api/sslprofile/sslprofile-1]") {
		t.Errorf("answered %v", answer)
	}
	c.refused(http.StatusBadRequest, "to_new_se: has no effect", "POST", path, schema.Object{"to_new_se": true})
	orders.orders = []place.Order{{}}
	c.refused(http.StatusBadRequest, "ssl_profile_ref: web has no SSL profile", "POST", path, nil)
	c.want(http.StatusNotFound, "POST", "/api/virtualservice/virtualservice-none/rotatekeys", nil)
}

func TestCacheIsPurgedAsAWholeOrByURI(t *testing.T) {
	h := newHouse(t)
	orders := &heard{}
	h.api.orders = orders
	c := h.login()
	path := fmt.Sprintf("/api/virtualservice/%v/purge", c.virtualService("web", nil)["uuid"])
	if answer := c.do("POST", path, nil); answer.Code != http.StatusOK ||
		answer.Header().Get("X-Weir-Revision") == "" ||
		!strings.Contains(answer.Body.String(), `"all":true`) {
		t.Errorf("answered %v %v", answer.Header(), answer.Body)
	}
	answer := c.want(http.StatusOK, "POST", path, schema.Object{"uris": []any{"shop.test/a", "/b"}, "prefix": true})
	if answer["all"] != false {
		t.Errorf("answered %v", answer)
	}
	if got := fmt.Sprint(orders.purged); got != "[[] false [shop.test/a /b] true]" {
		t.Errorf("purged %s", got)
	}
	many := make([]any, purgeURIsMost+1)
	for i := range many {
		many[i] = "/a"
	}
	for want, body := range map[string]schema.Object{
		"unknown field":       {"uri": "/a"},
		"uris: is empty":      {"uris": []any{}},
		"uris: is empty: ":    {"uris": nil},
		"uris: has more than": {"uris": many},
		"prefix: needs uris":  {"prefix": true},
	} {
		c.refused(http.StatusBadRequest, want, "POST", path, body)
	}
	c.want(http.StatusNotFound, "POST", "/api/virtualservice/virtualservice-none/purge", nil)
	if len(orders.purged) != 2 {
		t.Errorf("purged %v", orders.purged)
	}
}

func TestStatusOfScalingIsTheRuntimesAndNoMore(t *testing.T) {
	c := newHouse(t).login()
	path := fmt.Sprintf("/api/virtualservice/%v/scaleoutstatus", c.virtualService("web", nil)["uuid"])
	answer := c.want(http.StatusOK, "GET", path, nil)
	if answer["num_se_requested"] != 1.0 || answer["oper_status"] != nil {
		t.Errorf("answered %v", answer)
	}
	c.want(http.StatusNotFound, "GET", "/api/virtualservice/virtualservice-none/scaleoutstatus", nil)
}

func TestActionsBecomeOrdersAndNameWhatCannotBeHad(t *testing.T) {
	h := newHouse(t)
	orders := &heard{}
	h.api.orders = orders
	h.must(h.store.Update(t.Context(), func(tx *store.Tx) error {
		tx.Put(&store.Record{Kind: "serviceengine", UUID: "se-2", Tenant: "admin", Name: "engine-2",
			Object: schema.Object{"uuid": "se-2", "name": "engine-2"}})
		return nil
	}))
	c := h.login()
	path := fmt.Sprintf("/api/virtualservice/%v/", c.virtualService("web", nil)["uuid"])
	c.want(http.StatusOK, "POST", path+"scaleout", schema.Object{"vip_id": "1",
		"to_se_ref": "/api/serviceengine?name=engine-2"})
	if answer := c.want(http.StatusOK, "POST", path+"migrate", nil); fmt.Sprint(answer["num_se_requested"]) != "2" {
		t.Errorf("answered %v: the engines wanted before, not those wanted now", answer)
	}
	c.want(http.StatusOK, "POST", path+"migrate", schema.Object{"to_new_se": true, "admin_down": false})
	c.want(http.StatusOK, "POST", path+"scaleout", schema.Object{"to_host_ref": "/api/vimgrhostruntime?name=rack%201"})
	c.want(http.StatusOK, "POST", path+"retryplacement", schema.Object{"vip_id": "1"})
	want := []place.Order{
		{Verb: place.DoScaleOut, To: "se-2"}, {Verb: place.DoMigrate}, {Verb: place.DoMigrate, New: true},
		{Verb: place.DoScaleOut, ToHost: "rack 1"},
		{Verb: place.DoRetry},
	}
	if fmt.Sprint(orders.orders) != fmt.Sprint(want) {
		t.Errorf("heard %v, want %v", orders.orders, want)
	}
	for _, refused := range []struct {
		verb string
		body schema.Object
		want string
	}{
		{"scaleout", schema.Object{"to_se": "engine-2"}, `unknown field "to_se"`},
		{"scaleout", schema.Object{"from_se_ref": "/api/serviceengine?name=engine-2"}, "from_se_ref: has no effect"},
		{"scalein", schema.Object{"to_new_se": true}, "to_new_se: has no effect"},
		{"scalein", schema.Object{"admin_down": true}, "admin_down: has no effect"},
		{"migrate", schema.Object{"scalein_primary": true}, "scalein_primary: has no effect"},
		{"retryplacement", schema.Object{"to_se_ref": "/api/serviceengine?name=engine-2"}, "to_se_ref: has no effect"},
		{"retryplacement", schema.Object{"from_se_ref": "/api/serviceengine?name=engine-2"},
			"from_se_ref: has no effect"},
		{"switchover", schema.Object{"to_host_ref": "/api/vimgrhostruntime?name=rack%201"},
			"to_host_ref: has no effect"},
	} {
		c.refused(http.StatusBadRequest, refused.want, "POST", path+refused.verb, refused.body)
	}
	c.refused(http.StatusBadRequest, "from_se_ref: engine-9 does not serve web", "POST", path+"scalein", nil)
	c.refused(http.StatusBadRequest, "to_se_ref", "POST", path+"scaleout",
		schema.Object{"to_se_ref": "/api/serviceengine?name=engine-7"})
	c.refused(http.StatusBadRequest, "give one of to_new_se, to_se_ref and to_host_ref", "POST", path+"scaleout",
		schema.Object{"to_new_se": true, "to_se_ref": "/api/serviceengine?name=engine-2"})
	c.want(http.StatusNotFound, "POST", "/api/virtualservice/virtualservice-none/scaleout", nil)
}

func TestBodyOfAnOrderIsOneObject(t *testing.T) {
	for body, want := range map[string]string{`{"vip_id": "1"} {}`: "goes on after its JSON object",
		`[]`: "is not a JSON object", `{"vip_id": 1}`: "vip_id"} {
		if _, err := readScaleRequest(place.DoScaleOut, []byte(body)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, and not that it %s", body, err, want)
		}
	}
}

func TestEventsAreListedNewestFirstByObjectAndKind(t *testing.T) {
	h := newHouse(t)
	h.api.events = events.New(slog.New(slog.NewTextHandler(io.Discard, nil)), h.clock.now)
	c := h.login()
	uuid := fmt.Sprint(c.virtualService("web", nil)["uuid"])
	for _, id := range []string{"VS_ADD_SE", "VS_SCALEOUT_COMPLETE"} {
		h.api.events.Add(events.Entry{ID: id, Kind: "VIRTUALSERVICE", UUID: uuid, Name: "web", Tenant: "admin"})
	}
	h.api.events.Add(events.Entry{ID: "SE_UP", Kind: "SERVICEENGINE", UUID: "se-1", Tenant: "admin"})
	h.api.events.Add(events.Entry{ID: "VS_ADD_SE", Kind: "VIRTUALSERVICE", UUID: "vs-of-others", Tenant: "tenant-2"})
	for query, want := range map[string]string{
		"":                    "[SE_UP VS_SCALEOUT_COMPLETE VS_ADD_SE]",
		"&virtualservice=web": "[VS_SCALEOUT_COMPLETE VS_ADD_SE]",
		"&virtualservice=" + uuid + "&event_id=VS_ADD_SE": "[VS_ADD_SE]",
		"&page_size=1": "[SE_UP]",
	} {
		var ids []string
		for _, entry := range c.want(http.StatusOK, "GET", "/api/analytics/logs?type=2"+query, nil)["results"].([]any) {
			ids = append(ids, fmt.Sprint(entry.(map[string]any)["event_id"]))
		}
		if fmt.Sprint(ids) != want {
			t.Errorf("%q: %v, want %s", query, ids, want)
		}
	}
	c.refused(http.StatusBadRequest, "type", "GET", "/api/analytics/logs?type=1", nil)
}
