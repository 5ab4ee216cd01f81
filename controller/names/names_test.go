package names

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// stage has a Watch over a store. The test says what name servers answer, and how time goes on.
type stage struct {
	*testing.T
	*Watch
	now     time.Time
	answers map[string]string // addresses, or an error that begins with "!"
	log     *events.Log
}

func newStage(t *testing.T) *stage {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	objects, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Logger: quiet,
		Sealer: func() (store.Sealer, error) { return pki.OpenSealer(t.TempDir() + "/key") }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(objects.Close)
	s := &stage{T: t, now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), answers: map[string]string{}}
	now := func() time.Time { return s.now }
	s.log = events.New(quiet, now)
	s.Watch = New(Config{
		Objects: objects, Events: s.log, Log: quiet, Now: now,
		Lookup: func(_ context.Context, name string) (found []netip.Addr, err error) {
			if problem, failed := strings.CutPrefix(s.answers[name], "!"); failed {
				return nil, errors.New(problem)
			}
			for _, text := range strings.Fields(s.answers[name]) {
				found = append(found, netip.MustParseAddr(text))
			}
			return found, nil
		},
		Save: func(ctx context.Context, kind, uuid string,
			edit func(*store.Record) (*store.Record, error)) error {
			return objects.Update(ctx, func(tx *store.Tx) error {
				stored, _ := tx.View().Get(kind, uuid)
				record, err := edit(stored)
				if record != nil {
					tx.Put(record)
				} else if stored != nil {
					tx.Delete(kind, uuid)
				}
				return err
			})
		},
	})
	return s
}

// pool writes a pool. servers is JSON.
func (s *stage) pool(uuid, servers, more string) {
	s.Helper()
	object, err := schema.Parse("pool", fmt.Appendf(nil, `{"name":%q,"servers":%s%s}`, uuid, servers, more))
	if err != nil {
		s.Fatal(err)
	}
	err = s.config.Objects.Update(s.Context(), func(tx *store.Tx) error {
		tx.Put(&store.Record{Kind: "pool", UUID: uuid, Name: uuid, Object: object})
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
}

// round looks at the newest view, and resolves what is due.
func (s *stage) round() {
	s.Helper()
	s.look(s.Context(), s.config.Objects.View())
	s.start(s.Context())
	for s.running > 0 {
		s.finish(s.Context(), <-s.ended)
	}
	s.look(s.Context(), s.config.Objects.View()) // at what was written
}

// servers are the servers of a pool: those that are disabled stand in parentheses.
func (s *stage) servers(uuid string) string {
	s.Helper()
	view := s.config.Objects.View()
	record, _ := view.Get("pool", uuid)
	var all []string
	for _, server := range servers(Into(view, uuid, record.Object)) {
		ip, _ := server["ip"].(schema.Object)
		text := fmt.Sprint(ip["addr"])
		if port, has := server["port"]; has {
			text += fmt.Sprintf(":%v", port)
		}
		if server["enabled"] == false {
			text = "(" + text + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func (s *stage) want(uuid, servers string) {
	s.Helper()
	if got := s.servers(uuid); got != servers {
		s.Errorf("the servers of %s are %s, want %s", uuid, got, servers)
	}
}

func (s *stage) events() (ids []string) {
	s.log.Flush()
	for entry := range slices.Values(s.log.Entries()) {
		ids = append(ids, entry.ID+" "+entry.UUID)
	}
	slices.Reverse(ids)
	return ids
}

const origin = `{"ip":{"addr":"origin.test","type":"DNS"},"port":81}`

func TestServerStandsForEachAddressOfItsNameAndFollowsIt(t *testing.T) {
	s := newStage(t)
	s.pool("p", `[{"ip":{"addr":"10.0.0.1","type":"V4"}},`+origin+`]`, "")
	s.want("p", "10.0.0.1 origin.test:81")
	s.answers["origin.test"] = "2001:db8::1 10.0.0.9 10.0.0.8 ::ffff:10.0.0.8 0.0.0.0"
	s.round()
	s.want("p", "10.0.0.1 10.0.0.8:81 10.0.0.9:81 2001:db8::1:81")
	s.answers["origin.test"] = "10.0.0.9 10.0.0.7"
	s.round()
	s.want("p", "10.0.0.1 10.0.0.8:81 10.0.0.9:81 2001:db8::1:81") // it is asked for again after a while
	s.now = s.now.Add(refresh)
	s.round()
	s.want("p", "10.0.0.1 10.0.0.7:81 10.0.0.9:81")
	before := s.config.Objects.View().Revision()
	s.answers["origin.test"] = "10.0.0.7 10.0.0.9" // in another order
	s.now = s.now.Add(refresh)
	s.round()
	if after := s.config.Objects.View().Revision(); after != before {
		t.Error("the same addresses are written again")
	}
}

func TestAddressesStayWhileANameCannotBeResolvedAndThatIsToldOncePerPool(t *testing.T) {
	s := newStage(t)
	s.pool("p", "["+origin+"]", "")
	s.answers["origin.test"] = "10.0.0.9"
	s.round()
	s.answers["origin.test"] = "!no such host"
	for range 3 {
		s.now = s.now.Add(refresh)
		s.round()
	}
	s.want("p", "10.0.0.9:81")
	s.pool("q", "["+origin+"]", "")
	s.round()
	s.want("q", "origin.test:81")
	s.answers["origin.test"] = "10.0.0.9"
	s.now = s.now.Add(refresh)
	s.round()
	s.want("q", "10.0.0.9:81")
	got := s.events()
	slices.Sort(got[2:])
	want := []string{"POOL_NAME_NOT_RESOLVED p", "POOL_NAME_NOT_RESOLVED q", "POOL_NAME_RESOLVED p",
		"POOL_NAME_RESOLVED q"}
	if !slices.Equal(got, want) {
		t.Errorf("events %v", got)
	}
}

func TestServerWhoseNameHasItsAddressNoMoreIsDisabledIfThePoolKeepsIt(t *testing.T) {
	s := newStage(t)
	s.pool("p", "["+origin+"]", `,"delete_server_on_dns_refresh":false`)
	for _, step := range []struct{ answer, want string }{
		{"10.0.0.8 10.0.0.9", "10.0.0.8:81 10.0.0.9:81"},
		{"10.0.0.9", "10.0.0.9:81 (10.0.0.8:81)"},
		{"10.0.0.7", "10.0.0.7:81 (10.0.0.8:81) (10.0.0.9:81)"},
		{"10.0.0.8", "10.0.0.8:81 (10.0.0.7:81) (10.0.0.9:81)"},
	} {
		s.answers["origin.test"] = step.answer
		s.round()
		s.want("p", step.want)
		s.now = s.now.Add(refresh)
	}
}

func TestHostnameIsResolvedIfItIsToBeAndGivesAddressesOfTheSameFamily(t *testing.T) {
	s := newStage(t)
	s.answers["a.test"] = "10.0.0.9 2001:db8::1"
	s.pool("p", `[{"ip":{"addr":"10.0.0.1","type":"V4"},"hostname":"a.test","resolve_server_by_dns":true},
		{"ip":{"addr":"10.0.0.2","type":"V4"},"hostname":"a.test"},
		{"ip":{"addr":"10.0.0.3","type":"V4"},"hostname":"10.0.0.3","resolve_server_by_dns":true}]`, "")
	s.round()
	s.want("p", "10.0.0.9 10.0.0.2 10.0.0.3")
	s.answers["a.test"] = "2001:db8::1"
	s.now = s.now.Add(refresh)
	s.round()
	s.want("p", "10.0.0.1 10.0.0.2 10.0.0.3")
}

func TestAddressThatSeveralServersHaveIsOneServer(t *testing.T) {
	s := newStage(t)
	s.answers["origin.test"], s.answers["b.test"] = "10.0.0.1 10.0.0.2", "10.0.0.2"
	s.pool("p", `[`+origin+
		`,{"ip":{"addr":"b.test","type":"DNS"},"port":81},{"ip":{"addr":"10.0.0.1","type":"V4"},"port":81}]`,
		"")
	s.round()
	s.want("p", "10.0.0.2:81 10.0.0.1:81")
}

func TestAddressIsOneServerAlsoByTheDefaultPortAndWhereANameHasNoneOfItsFamily(t *testing.T) {
	s := newStage(t)
	s.answers["b.test"], s.answers["six.test"] = "10.0.0.1 2001:db8::1", "2001:db8::9"
	s.pool("p", `[{"ip":{"addr":"10.0.0.1","type":"V4"},"port":80},
		{"ip":{"addr":"2001:db8:0::1","type":"V6"},"hostname":"four.test","resolve_server_by_dns":true},
		{"ip":{"addr":"b.test","type":"DNS"}}]`, `,"default_server_port":80`)
	s.round()
	s.want("p", "10.0.0.1:80 2001:db8:0::1")
	s.pool("q", `[{"ip":{"addr":"10.0.0.1","type":"V4"},"hostname":"six.test","resolve_server_by_dns":true},
		{"ip":{"addr":"b.test","type":"DNS"}}]`, "")
	s.round()
	s.want("q", "10.0.0.1 2001:db8::1")
}

func TestAddressThatANameHasIsNotDisabledBecauseAnotherNameHadIt(t *testing.T) {
	s := newStage(t)
	s.answers["origin.test"], s.answers["b.test"] = "10.0.0.1", "10.0.0.9"
	s.pool("p", `[`+origin+`,{"ip":{"addr":"b.test","type":"DNS"},"port":81}]`, `,"delete_server_on_dns_refresh":false`)
	s.round()
	s.answers["origin.test"], s.answers["b.test"] = "10.0.0.2", "10.0.0.1"
	s.now = s.now.Add(refresh)
	s.round()
	s.want("p", "10.0.0.2:81 10.0.0.1:81 (10.0.0.9:81)")
}

func TestNameThatGoesWhileItIsAskedForIsNotAskedForAgain(t *testing.T) {
	s := newStage(t)
	s.answers["origin.test"] = "10.0.0.1"
	s.pool("p", `[`+origin+`]`, "")
	s.look(s.Context(), s.config.Objects.View())
	s.start(s.Context())
	s.pool("p", `[]`, "")
	s.look(s.Context(), s.config.Objects.View())
	s.finish(s.Context(), <-s.ended)
	if len(s.names) > 0 {
		t.Errorf("%d names are kept, and no pool has one", len(s.names))
	}
}

func TestWhatIsStoredGoesWithItsPoolAndItsNames(t *testing.T) {
	s := newStage(t)
	s.answers["origin.test"] = "10.0.0.9"
	s.pool("p", "["+origin+"]", "")
	s.pool("q", "["+origin+"]", "")
	s.round()
	again := New(s.config) // the next leader finds all of it
	again.look(t.Context(), s.config.Objects.View())
	s.want("p", "10.0.0.9:81")
	s.pool("p", `[{"ip":{"addr":"10.0.0.1","type":"V4"}}]`, "")
	err := s.config.Objects.Update(t.Context(), func(tx *store.Tx) error { tx.Delete("pool", "q"); return nil })
	if err != nil {
		t.Fatal(err)
	}
	s.round()
	if left := s.config.Objects.View().List(Kind); len(left) > 0 || len(s.names) > 0 {
		t.Errorf("%v and %v are left", left, s.names)
	}
}
