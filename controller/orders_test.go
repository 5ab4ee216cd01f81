package controller

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/controller/tickets"
)

func TestKeysOfSessionTicketsAreRotatedByTheProfileOfAVirtualService(t *testing.T) {
	objects := emptyStore(t)
	before := tickets.Ring{Profile: "sslprofile-1", Lifetime: time.Hour, Previous: []byte("a"), Current: []byte("b"),
		Next: []byte("c")}
	must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
		for _, profile := range []string{"sslprofile-1", "sslprofile-2", "sslprofile-3"} {
			put(tx, "sslprofile", profile, schema.Object{})
		}
		put(tx, "virtualservice", "vs-1", schema.Object{"ssl_profile_ref": "/api/sslprofile/sslprofile-1"})
		put(tx, "virtualservice", "vs-2", schema.Object{"ssl_profile_ref": "/api/sslprofile/sslprofile-2"})
		put(tx, "virtualservice", "vs-3", schema.Object{})
		selector := func(profile string) schema.Object {
			return schema.Object{"client_ip_list": schema.Object{"match_criteria": "IS_IN",
				"prefixes": []any{schema.Object{"ip_addr": schema.Object{"addr": "10.0.0.0", "type": "V4"},
					"mask": int64(8)}}},
				"ssl_profile_ref": "/api/sslprofile/" + profile}
		}
		put(tx, "virtualservice", "vs-4", schema.Object{"ssl_profile_ref": "/api/sslprofile/sslprofile-1",
			"ssl_profile_selectors": []any{selector("sslprofile-3"), selector("sslprofile-1")}})
		for _, profile := range []string{"sslprofile-1", "sslprofile-3"} {
			ring := before
			ring.Profile = profile
			record, err := store.RecordOf(ringKind, profile, ring)
			if err != nil {
				return err
			}
			tx.Put(record)
		}
		return nil
	}))
	gate := gateOf(t, objects)
	rotate := func(vs string) (profiles []string, err error) {
		failure := gate.Update(t.Context(), admit.System("test"), func(tx *admit.Tx) error {
			profiles, err = (&orders{reader: &reader{}}).RotateKeys(tx, vs)
			return nil
		})
		must(t, failure)
		return profiles, err
	}
	ringOf := func(profile string) *tickets.Ring {
		read, err := new(reader).read(objects.View())
		must(t, err)
		return read.rings.Of(profile)
	}
	if profiles, err := rotate("vs-1"); !slices.Equal(profiles, []string{"sslprofile-1"}) || err != nil {
		t.Fatalf("%q, %v", profiles, err)
	}
	after := ringOf("sslprofile-1")
	if !bytes.Equal(after.Previous, before.Current) || !bytes.Equal(after.Current, before.Next) ||
		len(after.Next) != tickets.SecretBytes ||
		!after.Turned.After(before.Turned) || after.Lifetime != time.Hour {
		t.Errorf("turned to %+v", after)
	}
	if profiles, err := rotate("vs-4"); !slices.Equal(profiles, []string{"sslprofile-1", "sslprofile-3"}) ||
		err != nil {
		t.Errorf("with selectors: %q, %v", profiles, err)
	}
	if again := ringOf("sslprofile-1"); !bytes.Equal(again.Current, after.Next) {
		t.Error("a profile of two selectors is not turned just once")
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

func TestGroupIsRedistributedByWhatItsEnginesDoNow(t *testing.T) {
	objects := emptyStore(t)
	log := slog.New(slog.DiscardHandler)
	told := events.New(log, time.Now)
	engines := fleet.New(func(uuid string) (string, bool) { return uuid, true }, told, time.Now)
	must(t, objects.Update(t.Context(), func(tx *store.Tx) error {
		put(tx, "serviceenginegroup", "group-1", schema.Object{"ha_mode": "HA_MODE_LEGACY_ACTIVE_STANDBY",
			"distribute_load_active_standby": true})
		put(tx, "serviceenginegroup", "group-2", schema.Object{})
		for _, engine := range []string{"se-1", "se-2"} {
			put(tx, "serviceengine", engine, schema.Object{"se_group_ref": "/api/serviceenginegroup/group-1"})
		}
		for _, vs := range []string{"vs-1", "vs-2"} {
			put(tx, "virtualservice", vs, schema.Object{"se_group_ref": "/api/serviceenginegroup/group-1",
				"enabled": true, "traffic_enabled": true})
			record, err := store.RecordOf(assignmentKind, vs, place.Assignment{VirtualService: vs, Seats: []place.Seat{
				{Engine: "se-1", State: place.Serving, Cause: place.New},
				{Engine: "se-2", State: place.Standby, Cause: place.New},
			}})
			if err != nil {
				return err
			}
			tx.Put(record)
		}
		return nil
	}))
	for _, engine := range []string{"se-1", "se-2"} {
		engines.Connected(engine,
			&enginev1.Hello{Status: &enginev1.Status{Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_RUNNING}})
	}
	gate := gateOf(t, objects)
	operators := &orders{fleet: engines, events: told, reader: &reader{}}
	redistribute := func(group string) (moved int, err error) {
		must(t, gate.Update(t.Context(), admit.System("test"), func(tx *admit.Tx) error {
			moved, err = operators.Redistribute(tx, group)
			return nil
		}))
		return moved, err
	}
	if moved, err := redistribute("group-1"); moved != 1 || err != nil {
		t.Fatalf("%d move, %v", moved, err)
	}
	read, err := new(reader).read(objects.View())
	must(t, err)
	after := read.before
	if one, two := after.Of("vs-1").Seats[0], after.Of("vs-2").Seats[0]; one.State != place.Leaving ||
		one.Cause != place.Switchover || two.State != place.Serving {
		t.Errorf("written are %+v", after)
	}
	for group, want := range map[string]string{"group-2": "ha_mode", "group-none": "cannot be read"} {
		if _, err := redistribute(group); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", group, err)
		}
	}
}

func gateOf(t *testing.T, objects *store.Store) *admit.Gate {
	t.Helper()
	gate, err := admit.Open(t.Context(), objects, time.Now, slog.New(slog.DiscardHandler))
	must(t, err)
	return gate
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
