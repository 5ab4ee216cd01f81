package alert

import (
	"errors"
	"testing"
	"time"
)

func TestAlertThatIsRefusedKeepsNoOtherFromBeingStored(t *testing.T) {
	d := newDesk(t, ruleOn(t, downRule))
	d.refuses = func(c Change) bool { return c.Alert.ObjectUUID == "vs-1" }
	d.happens("VS_DOWN", "vs-1", "")
	d.happens("VS_DOWN", "vs-2", "")
	d.wants("both are sent", "hook FIRING shop", "hook FIRING web")
	if len(d.stored) != 1 {
		t.Errorf("stored are %d alerts", len(d.stored))
	}
	before := d.saves
	for range 10 {
		d.pass(time.Minute)
		d.happens("VS_DOWN", "vs-1", "")
		d.sent()
	}
	if d.saves != before {
		t.Errorf("what is refused is tried %d times more", d.saves-before)
	}
	d.pass(40 * 24 * time.Hour) // both expire
	d.sent()
	if len(d.stored) > 0 || len(d.alerts.book.entries) > 0 {
		t.Errorf("left are %d in the store, %d in memory", len(d.stored), len(d.alerts.book.entries))
	}
}

func TestAlertWhoseTenantIsGoneIsStoredInAdmin(t *testing.T) {
	d := newDesk(t, ruleOn(t, downRule))
	d.refuses = func(c Change) bool { return c.Tenant == "blue" }
	d.happens("VS_DOWN", "vs-2", "")
	d.wants("it is sent", "hook FIRING shop")
	if len(d.stored) != 1 {
		t.Errorf("stored are %d alerts", len(d.stored))
	}
	for _, e := range d.alerts.book.entries {
		if e.tenant != adminTenant || e.dirty {
			t.Errorf("it is %+v", e)
		}
	}
}

func TestSavingPausesAfterAFailure(t *testing.T) {
	d := newDesk(t, ruleOn(t, downRule))
	d.full = errors.New("the disk is full")
	d.happens("VS_DOWN", "vs-1", "")
	for range 1000 { // turns of the loop
		d.alerts.finish(t.Context())
	}
	if d.saves != 1 {
		t.Errorf("it was tried %d times at the same time", d.saves)
	}
	for range 60 {
		d.now = d.now.Add(time.Minute)
		d.alerts.finish(t.Context())
	}
	if d.saves != 61 {
		t.Errorf("tried %d times in an hour", d.saves)
	}
}

func TestWhatHappensAgainBeforeItsAlertIsDeletedIsANewAlert(t *testing.T) {
	rule := ruleOn(t, downRule)
	rule.ExpiryS = 3600
	d := newDesk(t, rule)
	d.happens("VS_DOWN", "vs-1", "")
	d.wants("first", "hook FIRING web")
	d.full = errors.New("the disk is full")
	d.pass(3700 * time.Second)
	d.happens("VS_DOWN", "vs-1", "")
	d.wants("after the expiry", "hook FIRING web")
	d.full = nil
	d.pass(2 * time.Minute)
	d.sent()
	if len(d.stored) != 1 || len(d.alerts.book.entries) != 1 {
		t.Errorf("stored are %d alerts of %d", len(d.stored), len(d.alerts.book.entries))
	}
}

func TestCountsOfRepetitionsAreSavedOnceInAWhileAndTheRestAtOnce(t *testing.T) {
	d := newDesk(t, ruleOn(t, downRule))
	d.happens("VS_DOWN", "vs-1", "")
	d.wants("first", "hook FIRING web")
	d.happens("VS_DOWN", "vs-1", "") // the alert is throttled now
	d.sent()
	before := d.saves
	for range 50 {
		d.now = d.now.Add(100 * time.Millisecond)
		d.happens("VS_DOWN", "vs-1", "")
		d.sent()
	}
	if got := d.saves - before; got != 1 {
		t.Errorf("saved %d times in 5 s", got)
	}
	d.happens("VS_DOWN", "vs-1", "")
	d.happens("VS_UP", "vs-1", "")
	d.wants("up", "hook RESOLVED web")
	for _, stored := range d.stored {
		if stored.Condition != resolved || stored.ThrottleCount != 52 {
			t.Errorf("stored is %+v", stored)
		}
	}
}
