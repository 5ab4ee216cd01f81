package membership

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// office is a register on a store with the built-in objects.
type office struct {
	*testing.T
	*Register
	connected map[string]bool
	origin    *Origin
	late      error
	asked     func() // called when a Join asks who is connected
	end       func() // closes the store
}

func newOffice(t *testing.T) *office {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	sealer := func() (store.Sealer, error) { return pki.OpenSealer(filepath.Join(t.TempDir(), "key")) }
	objects, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Sealer: sealer, Logger: quiet,
		Index: admit.IndexKeys})
	if err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(objects.Close)
	t.Cleanup(end)
	gate, err := admit.Open(t.Context(), objects, time.Now, quiet)
	if err == nil {
		err = gate.Bootstrap(t.Context(), "a long password")
	}
	if err != nil {
		t.Fatal(err)
	}
	o := &office{T: t, connected: map[string]bool{}, asked: func() {}, end: end}
	o.Register = New(Config{
		Objects: objects, Gate: gate, IsConnected: func(uuid string) bool { o.asked(); return o.connected[uuid] },
		Origin: func(*store.View, string) (*Origin, error) { return o.origin, o.late },
	})
	return o
}

func (o *office) join(name string) *store.Record {
	o.Helper()
	joined, err := o.Join(o.Context(), name)
	if err != nil {
		o.Fatal(err)
	}
	record, ok := o.Objects.View().Get(engineKind, joined.Engine)
	if !ok || !o.Exists(joined.Engine) || record.Name != name {
		o.Fatalf("got %v", record)
	}
	return record
}

// newest returns the last audit entry, as user, action, object and refusal.
func (o *office) newest() string {
	entry := o.Gate.Audit.Entries()[0]
	return strings.TrimSpace(
		fmt.Sprint(entry.User, " ", entry.Action, " ", entry.Kind, " ", cmp.Or(entry.Name, entry.Object),
			" ", entry.Refused),
	)
}

func TestEngineJoinsWithAnObjectInTheDefaultGroup(t *testing.T) {
	o := newOffice(t)
	engine := o.join("edge")
	want := schema.RefPath("serviceenginegroup", schema.BuiltinUUID("serviceenginegroup", "Default-Group"))
	if got := engine.Object["se_group_ref"]; got != want || engine.Tenant != admit.AdminTenant {
		t.Errorf("group is %v, want %v; tenant %s", got, want, engine.Tenant)
	}
	if got := o.newest(); got != "system:membership create serviceengine edge" {
		t.Errorf("audited is %q", got)
	}
}

func TestEngineThatACloudStartedJoinsAsTheCloudSaid(t *testing.T) {
	o := newOffice(t)
	o.origin = &Origin{
		Engine: "se-chosen", Zone: "z", Cloud: schema.BuiltinUUID("cloud", "Default-Cloud"),
		Group: schema.BuiltinUUID("serviceenginegroup", "Default-Group"),
	}
	engine := o.join("south")
	object := engine.Object
	if engine.UUID != "se-chosen" || object["controller_created"] != true || object["availability_zone"] != "z" {
		t.Errorf("got %v", object)
	}
	o.late = errors.New("too late")
	if _, err := o.Join(t.Context(), "north"); !errors.Is(err, o.late) || o.Objects.View().Count(engineKind) != 1 {
		t.Errorf("one that its cloud is about to end: %v", err)
	}
}

func TestEngineJoinsACloudAndAGroupOfAnotherTenant(t *testing.T) {
	o := newOffice(t)
	o.make("tenant", schema.Object{"name": "blue"}, "tenant-blue")
	for _, kind := range []string{"cloud", "serviceenginegroup"} {
		o.make(kind, schema.Object{"name": "blue", "tenant_ref": "/api/tenant/tenant-blue"}, kind+"-blue")
	}
	o.origin = &Origin{Engine: "se-blue", Cloud: "cloud-blue", Group: "serviceenginegroup-blue"}
	engine := o.join("south")
	if engine.Object["cloud_ref"] != "/api/cloud/cloud-blue" ||
		engine.Object["se_group_ref"] != "/api/serviceenginegroup/serviceenginegroup-blue" {
		t.Errorf("it joined as %v", engine.Object)
	}
}

// make creates an object as the system.
func (o *office) make(kind string, object schema.Object, uuid string) {
	o.Helper()
	err := o.Gate.Update(o.Context(), admit.System("test"), func(tx *admit.Tx) error {
		_, err := tx.Create(kind, object, uuid)
		return err
	})
	if err != nil {
		o.Fatal(err)
	}
}

func TestEngineIsRefusedWhoseGroupIsGoneAndThatIsAudited(t *testing.T) {
	o := newOffice(t)
	o.origin = &Origin{
		Engine: "se-chosen", Cloud: schema.BuiltinUUID("cloud", "Default-Cloud"), Group: "serviceenginegroup-gone",
	}
	_, err := o.Join(t.Context(), "south")
	if err == nil || !strings.Contains(err.Error(), "register engine south: serviceengine: se_group_ref") {
		t.Errorf("got %v", err)
	}
	const want = "system:membership create serviceengine south serviceengine: se_group_ref"
	if got := o.newest(); !strings.HasPrefix(got, want) {
		t.Errorf("audited is %q", got)
	}
}

func TestNameBelongsToOneEngineAtATime(t *testing.T) {
	o := newOffice(t)
	first := o.join("edge").UUID
	o.connected[first] = true
	if _, err := o.Join(t.Context(), "edge"); !errors.Is(err, ErrNameTaken) {
		t.Errorf("while it is connected: %v", err)
	}
	o.connected[first] = false
	if again := o.join("edge"); again.UUID != first {
		t.Errorf("after it left: %s; want %s again", again.UUID, first)
	}
}

func TestOfTwoHostsThatJoinByOneNameTheLastOneCounts(t *testing.T) {
	o := newOffice(t)
	first, err := o.Join(t.Context(), "edge")
	if err != nil || first.Replaces || o.Check(first.Engine, first.Join) != nil {
		t.Fatalf("got %+v, %v", first, err)
	}
	second, err := o.Join(t.Context(), "edge") // the first one has not connected yet
	if err != nil || second.Engine != first.Engine || !second.Replaces {
		t.Fatalf("got %+v, %v", second, err)
	}
	if got := o.newest(); got != "system:membership replace serviceengine "+first.Engine {
		t.Errorf("audited is %q", got)
	}
	for join, want := range map[string]error{first.Join: ErrReplaced, second.Join: nil, "": ErrReplaced} {
		if err := o.Check(first.Engine, join); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", join, err, want)
		}
	}
}

func TestReplacementThatMayBeStoredIsAudited(t *testing.T) {
	o := newOffice(t)
	first := o.join("edge").UUID
	o.asked = o.end // the join is decided, and its write fails
	joined, err := o.Join(t.Context(), "edge")
	if err == nil || !joined.Replaces {
		t.Fatalf("got %+v, %v", joined, err)
	}
	if got := o.newest(); !strings.HasPrefix(got, "system:membership replace serviceengine "+first+" ") {
		t.Errorf("audited is %q", got)
	}
}

func TestReplacementThatIsCertainlyNotStoredIsNone(t *testing.T) {
	o := newOffice(t)
	o.join("edge")
	for batch := range 2 { // records of engines that are gone; to forget them all is too much for one transaction
		err := o.Gate.Update(t.Context(), admit.System("test"), func(tx *admit.Tx) error {
			for n := range 5_000 {
				uuid := fmt.Sprint("se-gone-", batch, "-", n)
				join := &store.Record{Kind: joinKind, UUID: uuid, Name: uuid, Object: schema.Object{"uuid": uuid}}
				if err := tx.Keep(join); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	before := o.newest()
	joined, err := o.Join(t.Context(), "edge")
	if !errors.Is(err, store.ErrTooLarge) || joined.Replaces || o.newest() != before {
		t.Errorf("got %+v, %v; audited is %q", joined, err, o.newest())
	}
}

func TestReplacementThatIsRefusedIsNone(t *testing.T) {
	o := newOffice(t)
	o.connected[o.join("edge").UUID] = true
	before := o.newest()
	if joined, err := o.Join(t.Context(), "edge"); err == nil || joined.Replaces || o.newest() != before {
		t.Errorf("got %+v, %v; audited is %q", joined, err, o.newest())
	}
}

func TestEngineThatJoinedBeforeJoinsWereRecordedMayConnect(t *testing.T) {
	o := newOffice(t)
	edge := o.join("edge").UUID
	must := func(err error) {
		if t.Helper(); err != nil {
			t.Fatal(err)
		}
	}
	must(o.Gate.Update(t.Context(), admit.System("test"), func(tx *admit.Tx) error {
		return tx.Forget(joinKind, edge)
	}))
	if err := o.Check(edge, ""); err != nil {
		t.Errorf("got %v", err)
	}
	o.join("other")
	must(o.Gate.Update(t.Context(), admit.System("test"), func(tx *admit.Tx) error {
		other, _ := tx.View().ByName(engineKind, admit.AdminTenant, "other")
		return tx.Delete(engineKind, other.UUID)
	}))
	if err := o.Check("se-gone", ""); !errors.Is(err, ErrDeleted) {
		t.Errorf("got %v", err)
	}
	o.join("third")
	if joins := o.Objects.View().Count(joinKind); joins != 1 {
		t.Errorf("there are records of %d joins, and one is of an engine that exists", joins)
	}
}
