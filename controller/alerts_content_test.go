package controller

import (
	"testing"

	"github.com/weir-lb/weir/controller/alert"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

// A fleet that fails writes thousands of alerts and other objects. Each write makes a view.
func TestOnlyWhatHasChangedIsReadAgainForAlerts(t *testing.T) {
	objects := emptyStore(t)
	write := func(kind, uuid string, object any) *store.View {
		t.Helper()
		err := objects.Update(t.Context(), func(tx *store.Tx) error {
			record, err := store.RecordOf(kind, uuid, object)
			if err == nil {
				withoutEmpty(record.Object)
				tx.Put(record)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return objects.View()
	}
	write(ruleKind, "rule-1", kinds.AlertConfig{Enabled: true})
	first := alert.Read(write(alertKind, "alert-1", kinds.Alert{Reason: "old"}), nil)
	if len(first.Rules) != 1 || first.Stored["alert-1"] == nil {
		t.Fatalf("read %d rules and the alerts %v", len(first.Rules), first.Stored)
	}
	other := alert.Read(write("pool", "pool-1", kinds.Pool{}), first)
	if len(other.Rules) != 1 || other.Rules[0] != first.Rules[0] {
		t.Error("the rule was read again after a pool was written")
	}
	if got := other.Objects("pool"); len(got) != 1 {
		t.Errorf("pools are %v, want the one that was written", got)
	}
	more := alert.Read(write(alertKind, "alert-2", kinds.Alert{}), other)
	if len(more.Stored) != 2 || more.Stored["alert-1"] != first.Stored["alert-1"] {
		t.Errorf("alerts are %v; the first one should not be read again", more.Stored)
	}
	changed := alert.Read(write(alertKind, "alert-1", kinds.Alert{Reason: "new"}), more)
	if changed.Stored["alert-1"].Reason != "new" || first.Stored["alert-1"].Reason != "old" {
		t.Error("a changed alert is not read again, or in place")
	}
	rules := alert.Read(write(ruleKind, "rule-2", kinds.AlertConfig{Enabled: true}), changed)
	if len(rules.Rules) != 2 || len(changed.Rules) != 1 {
		t.Errorf("%d rules after a second one, %d before it", len(rules.Rules), len(changed.Rules))
	}
}
