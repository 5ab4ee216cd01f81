package store

import (
	"slices"
	"testing"
)

func TestKindsOfAUUIDAreThoseWithARecordOfExactlyThatUUID(t *testing.T) {
	record := func(kind, uuid string) change { return change{kind, uuid, &Record{Kind: kind, UUID: uuid, Name: uuid}} }
	before := emptyView().with(1, []change{
		record("vsvip", "shop"), record("pool", "shop"), record("pool", "shop-2"), record("cloud", "sho"),
	})
	after := before.with(2, []change{{kind: "pool", uuid: "shop"}})
	for _, c := range []struct {
		view *View
		uuid string
		want []string
	}{
		{before, "shop", []string{"pool", "vsvip"}},
		{before, "shop-2", []string{"pool"}},
		{before, "shop-3", nil},
		{after, "shop", []string{"vsvip"}},
	} {
		if got := c.view.KindsOf(c.uuid); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.uuid, got, c.want)
		}
	}
}

func TestViewsDifferInTheKindsThatWereWritten(t *testing.T) {
	record := func(kind, uuid string) change { return change{kind, uuid, &Record{Kind: kind, UUID: uuid, Name: uuid}} }
	before := emptyView().with(1, []change{record("pool", "a"), record("alert", "b")})
	after := before.with(2, []change{record("pool", "c")})
	if !after.Differs(before, "alert", "pool") {
		t.Error("a pool was created, and pools do not differ")
	}
	if after.Differs(before, "alert", "cloud") {
		t.Error("only a pool was created, and alerts or clouds differ")
	}
	if gone := after.with(3, []change{{kind: "alert", uuid: "b"}}); !gone.Differs(after, "alert") {
		t.Error("the only alert was deleted, and alerts do not differ")
	}
}
