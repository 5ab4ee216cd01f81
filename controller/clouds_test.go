package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/cloud"
)

// sky is a cloud with two places. The first place starts nothing. From the second place a test receives the Join, and
// lets the engine join itself.
type sky struct {
	mu      sync.Mutex
	states  map[string]cloud.PlaceState
	created chan cloud.Join // of the second place
	count   int
}

func newSky() *sky {
	return &sky{states: map[string]cloud.PlaceState{}, created: make(chan cloud.Join, 8)}
}

func (s *sky) List(context.Context) ([]cloud.Place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []cloud.Place{{Engine: "north", State: s.states["north"]},
		{Engine: "south", Zone: "z", State: s.states["south"]}}, nil
}

func (s *sky) Create(_ context.Context, engine string, join cloud.Join) error {
	if engine == "north" {
		return errors.New("it is cold in the north")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[engine] = cloud.Running
	s.count++
	s.created <- join
	return nil
}

func (s *sky) Retire(_ context.Context, engine string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[engine] = cloud.Free
	return nil
}

func (s *sky) state(engine string) (state cloud.PlaceState, created int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states[engine], s.count
}

// events returns the messages of the events of one kind.
func (h *house) events(id string) (told []string) {
	h.Helper()
	var logs struct {
		Results []map[string]any `json:"results"`
	}
	h.must(h.api.Get(h.Context(), "analytics/logs?type=2&event_id="+id, &logs))
	for _, event := range logs.Results {
		told = append(told, fmt.Sprintf("%v %v", event["obj_name"], event["event_description"]))
	}
	return told
}

// audited returns what a user did, newest first.
func (h *house) audited(user string) (told []string) {
	h.Helper()
	var audit struct {
		Results []map[string]any `json:"results"`
	}
	h.must(h.api.Get(h.Context(), "audit", &audit))
	for _, entry := range audit.Results {
		if entry["user"] == user {
			told = append(told, fmt.Sprint(entry["action"], " ", entry["kind"], " ", entry["object"]))
		}
	}
	return told
}

func (h *house) until(what string, check func() bool) {
	h.Helper()
	deadline, poll := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer poll.Stop()
	for !check() {
		select {
		case <-deadline:
			h.Fatalf("not within %v: %s", patience, what)
		case <-poll.C:
		}
	}
}

func TestAnEngineThatACloudStartsJoinsTheGroupThatLackedItAndIsEndedWhenNobodyNeedsIt(t *testing.T) {
	sky, dir := newSky(), t.TempDir()
	house := startWith(t, dir, sky) // the default group shall have one engine
	uuid, identity, authority := house.joinBy((<-sky.created).Token, "south")
	house.connect(uuid, identity, authority)
	if told := house.events("CREATE_SE_FAIL"); !slices.Equal(told, []string{"north it is cold in the north"}) {
		t.Errorf("told %q", told)
	}
	engine, err := house.api.ByName(t.Context(), "serviceengine", "south")
	house.must(err)
	if engine["controller_created"] != true || engine["availability_zone"] != "z" || engine["uuid"] != uuid ||
		!strings.Contains(fmt.Sprint(engine["cloud_ref"]), "cloud-") {
		t.Errorf("got %v", engine)
	}
	house.until("it counts as one of the group's", func() bool {
		var runtime client.Object
		house.must(house.api.Get(t.Context(), "serviceengine/"+uuid+"/runtime", &runtime))
		return runtime["se_connected"] == true
	})

	house.must(house.stop())
	house = startWith(t, dir, sky)
	house.connect(uuid, identity, authority)
	group, err := house.api.ByName(t.Context(), "serviceenginegroup", "Default-Group")
	house.must(err)
	group["min_se"], group["se_deprovision_delay"] = 0, 0
	_, err = house.api.Replace(t.Context(), "serviceenginegroup", group)
	house.must(err)
	house.until("it is ended", func() bool {
		state, _ := sky.state("south")
		return state == cloud.Free
	})
	house.until("it is forgotten", func() bool { return len(house.events("DELETED_SE")) == 1 })
	if _, created := sky.state("south"); created != 1 {
		t.Errorf("it was started %d times", created)
	}
	want := []string{"delete serviceengine " + uuid, "change serviceengine " + uuid} // newest first
	house.until("both writes are audited", func() bool { return slices.Equal(house.audited("system:cloud"), want) })
}
