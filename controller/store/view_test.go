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
