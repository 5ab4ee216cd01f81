package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/revocation"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func TestWhatWasFetchedIsAChangeOfItsObjectAndGoesWithIt(t *testing.T) {
	objects := emptyStore(t)
	must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
		put(tx, "pkiprofile", "p", schema.Object{"crls": []any{schema.Object{"server_url": "http://a/"}}})
		return nil
	}))
	before, save := objects.View(), saverOfFetched(objects)
	lists := revocation.Lists{UUID: "p", Lists: []*revocation.List{{URL: "http://a/", DER: []byte{1}}}}
	keep := func(*store.Record) (*store.Record, error) { return store.RecordOf(revocation.ListKind, "p", lists) }
	must(t, save(t.Context(), revocation.ListKind, "p", keep))
	view := objects.View()
	for _, change := range view.Since(before) {
		if kind := revocation.ObjectOf(change.Kind); kind != "pkiprofile" {
			t.Fatalf("%+v is about a %q", change, kind)
		}
	}
	stored, _ := view.Get("pkiprofile", "p")
	read := revocation.Into(view, "pkiprofile", "p", stored.Object)
	body := func(o schema.Object) any {
		crls, _ := o["crls"].([]any)
		list, _ := crls[0].(schema.Object)
		return list["body"]
	}
	if body(stored.Object) != nil || body(read) == nil {
		t.Errorf("stored %v, read %v", stored.Object, read)
	}

	must(t, objects.Update(t.Context(), func(tx *store.Tx) error { tx.Delete("pkiprofile", "p"); return nil }))
	must(t, save(t.Context(), revocation.ListKind, "p", func(*store.Record) (*store.Record, error) { return nil, nil }))
	must(t, save(t.Context(), revocation.ListKind, "p", keep))
	if _, there := objects.View().Get(revocation.ListKind, "p"); there {
		t.Error("lists of a profile that is gone are stored")
	}
}

func TestServersThatAPoolNamesAreInThePlansOfEngines(t *testing.T) {
	h := start(t, t.TempDir())
	e := h.connect(h.join("edge"))
	h.createService("shop", 8443)
	pool, err := h.api.ByName(t.Context(), "pool", "shop")
	h.must(err)
	pool["servers"] = []any{client.Object{"ip": client.Object{"addr": "localhost", "type": "DNS"}}}
	stored, err := h.api.Replace(t.Context(), "pool", pool)
	h.must(err)
	if got := fmt.Sprint(stored["servers"]); !strings.Contains(got, "localhost") || strings.Contains(got, "127.0.0.1") {
		t.Errorf("the API shows %s", got)
	}
	for isServer := false; !isServer; {
		delta, resource := e.planWith(pool["uuid"])
		isServer = slices.ContainsFunc(resource.GetPool().GetPool().GetServers(),
			func(server *dataplanev1.Server) bool {
				return server.GetAddress() == "127.0.0.1" && server.GetHostname() == "localhost"
			})
		e.ack(delta)
	}
	h.runtimeUntil("pool", pool, "127.0.0.1")
}
