package controller

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/controller/tickets"
)

func TestKeysOfSessionTicketsAreRotatedByTheProfileOfAVirtualService(t *testing.T) {
	objects := emptyStore(t)
	before := tickets.Ring{Profile: "sslprofile-1", Lifetime: time.Hour, Previous: []byte("a"), Current: []byte("b"), Next: []byte("c")}
	must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
		for _, profile := range []string{"sslprofile-1", "sslprofile-2"} {
			put(tx, "sslprofile", profile, schema.Object{})
		}
		put(tx, "virtualservice", "vs-1", schema.Object{"ssl_profile_ref": "/api/sslprofile/sslprofile-1"})
		put(tx, "virtualservice", "vs-2", schema.Object{"ssl_profile_ref": "/api/sslprofile/sslprofile-2"})
		put(tx, "virtualservice", "vs-3", schema.Object{})
		record, err := recordOf(ringKind, before.Profile, before)
		if err == nil {
			tx.Put(record)
		}
		return err
	}))
	rotate := func(vs string) (profile string, err error) {
		failure := objects.Update(t.Context(), func(tx *store.Tx) error {
			profile, err = orders{}.RotateKeys(tx, vs)
			return nil
		})
		must(t, failure)
		return profile, err
	}
	if profile, err := rotate("vs-1"); profile != "sslprofile-1" || err != nil {
		t.Fatalf("%q, %v", profile, err)
	}
	rings, err := decided[tickets.Ring](objects.View(), ringKind)
	must(t, err)
	after := rings["sslprofile-1"]
	if !bytes.Equal(after.Previous, before.Current) || !bytes.Equal(after.Current, before.Next) || len(after.Next) != tickets.SecretBytes ||
		!after.Turned.After(before.Turned) || after.Lifetime != time.Hour {
		t.Errorf("turned to %+v", after)
	}
	for vs, want := range map[string]string{
		"vs-2": "enable_ssl_session_reuse", "vs-3": "has no SSL profile", "vs-none": "cannot be read",
	} {
		refusal := (*place.Refusal)(nil)
		if _, err := rotate(vs); !errors.As(err, &refusal) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", vs, err)
		}
	}
}

func put(tx *store.Tx, kind, uuid string, object schema.Object) {
	object["uuid"], object["name"] = uuid, uuid
	tx.Put(&store.Record{Kind: kind, UUID: uuid, Name: uuid, Tenant: "admin", Object: object})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
