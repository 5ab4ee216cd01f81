package controller

import (
	"errors"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/sorted"
	"github.com/weir-lb/weir/controller/store"
)

func TestPurgesAreKeptBesideTheirVirtualServiceAndGoWithIt(t *testing.T) {
	objects := emptyStore(t)
	must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
		cache := schema.Object{"cache_config": schema.Object{"enabled": true}}
		put(tx, "applicationprofile", "profile-1", schema.Object{"type": "APPLICATION_PROFILE_TYPE_HTTP",
			"http_profile": cache})
		put(tx, "virtualservice", "vs-1", schema.Object{
			"application_profile_ref": "/api/applicationprofile/profile-1"})
		put(tx, "applicationprofile", "profile-2", schema.Object{"type": "APPLICATION_PROFILE_TYPE_L4"})
		put(tx, "virtualservice", "vs-2", schema.Object{
			"application_profile_ref": "/api/applicationprofile/profile-2"})
		put(tx, "virtualservice", "vs-3", schema.Object{
			"application_profile_ref": "/api/applicationprofile/profile-2",
			"services": []any{schema.Object{"port": 22}, schema.Object{"port": 80,
				"override_application_profile_ref": "/api/applicationprofile/profile-1"}}})
		return nil
	}))
	gate, reads := gateOf(t, objects), &reader{}
	purge := func(vs string, uris ...string) (all bool, err error) {
		failure := gate.Update(t.Context(), admit.System("test"), func(tx *admit.Tx) error {
			all, err = (&orders{reader: &reader{}}).Purge(tx, vs, uris, false)
			return nil
		})
		must(t, failure)
		return all, err
	}
	purges := func() model.Purges {
		read, err := reads.read(objects.View())
		must(t, err)
		vs := sorted.Find(read.model.VirtualServices, "vs-1", (*model.VirtualService).Key)
		if vs.Purges == nil {
			return model.Purges{}
		}
		return *vs.Purges
	}
	if before := purges(); before.Last != 0 {
		t.Fatalf("before: %+v", before)
	}
	if all, err := purge("vs-1", "shop.test/a"); all || err != nil {
		t.Fatal(all, err)
	}
	if got := purges(); got.Last != 1 || got.All != 0 || len(got.URIs) != 1 || got.URIs[0].Host != "shop.test" {
		t.Errorf("%+v", got)
	}
	if all, err := purge("vs-3"); !all || err != nil { // its port 80 has a cache
		t.Fatal(all, err)
	}
	if all, err := purge("vs-1"); !all || err != nil {
		t.Fatal(all, err)
	}
	if got := purges(); got.All != 2 || len(got.URIs) != 0 {
		t.Errorf("%+v", got)
	}
	for vs, want := range map[string]string{"vs-2": "stores no responses", "vs-1": "uris[0]"} {
		refusal := (*place.Refusal)(nil)
		if _, err := purge(vs, "nowhere"); !errors.As(err, &refusal) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", vs, err)
		}
	}
	must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
		tx.Delete("virtualservice", "vs-1")
		return nil
	}))
	base := objects.View()
	if _, err := settle(t.Context(), objects, base, nil, []string{"vs-1"}); err != nil {
		t.Fatal(err)
	}
	if _, there := objects.View().Get(purgeKind, "vs-1"); there {
		t.Error("its purges are still there")
	}
}
