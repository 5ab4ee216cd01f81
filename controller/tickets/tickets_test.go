package tickets

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/sorted"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const lifetime = time.Hour

// stage is a virtual service with an SSL profile, and the rings that were decided.
type stage struct {
	profile *kinds.SSLProfile
	model   *model.Model
	rings   Rings
	made    byte
}

func newStage() *stage {
	profile := schema.Defaults[kinds.SSLProfile]()
	profile.UUID, profile.SSLSessionTimeoutS = "sslprofile-1", uint32(lifetime/time.Second)
	return &stage{
		profile: profile,
		model: &model.Model{VirtualServices: []*model.VirtualService{{SSLProfile: profile},
			{SSLProfile: profile}, {}}},
	}
}

func (s *stage) decide(now time.Time) Decision {
	edits, d := map[string]*Ring{}, Decide(s.model, s.rings, now, func() []byte {
		s.made++
		return bytes.Repeat([]byte{s.made}, SecretBytes)
	})
	for _, ring := range d.Changed {
		edits[ring.Profile] = &ring
	}
	for _, profile := range d.Gone {
		edits[profile] = nil
	}
	s.rings = s.rings.Edit(edits)
	return d
}

func (s *stage) ring() Ring { return *s.rings.Of("sslprofile-1") }

func TestEnginesKnowASecretOnePeriodBeforeItMakesTicketsAndOneAfter(t *testing.T) {
	s := newStage()
	if d := s.decide(start); len(d.Changed) != 1 || !d.Again.Equal(start.Add(lifetime)) {
		t.Fatalf("first: %+v", d)
	}
	first := s.ring()
	if d := s.decide(start.Add(lifetime - 1)); len(d.Changed)+len(d.Gone) > 0 {
		t.Errorf("turned before its time: %+v", d)
	}
	s.decide(start.Add(lifetime))
	second := s.ring()
	if !bytes.Equal(second.Current, first.Next) || !bytes.Equal(second.Previous, first.Current) {
		t.Errorf("turned from %v to %v", first, second)
	}
	s.decide(start.Add(2 * lifetime))
	for _, secret := range [][]byte{s.ring().Current, s.ring().Previous, s.ring().Next} {
		if bytes.Equal(secret, first.Current) {
			t.Errorf("a secret comes again, or stays for ever: %v", s.ring())
		}
	}
}

func TestThreeTurnsLeaveNoSecretOfThoseBefore(t *testing.T) {
	s := newStage()
	s.decide(start)
	ring := s.ring()
	old := [][]byte{ring.Current, ring.Previous, ring.Next}
	for i := range 3 {
		ring = ring.Turn(start.Add(time.Second), bytes.Repeat([]byte{byte(100 + i)}, SecretBytes))
	}
	for _, secret := range old {
		if bytes.Equal(secret, ring.Current) || bytes.Equal(secret, ring.Previous) || bytes.Equal(secret, ring.Next) {
			t.Errorf("%v is in %+v", secret[0], ring)
		}
	}
	s.rings = Rings{&ring}
	if d := s.decide(start.Add(lifetime)); len(d.Changed) != 0 {
		t.Errorf("turned again before a period was over: %+v", d)
	}
}

func TestControllerThatWasAwayTurnsTheRingOnceSoThatEnginesKnowWhatComes(t *testing.T) {
	s := newStage()
	s.decide(start)
	before := s.ring()
	if until := before.Until(); !until.Equal(start.Add(2 * lifetime)) {
		t.Errorf("engines alone make tickets until %v", until)
	}
	s.decide(start.Add(100 * lifetime))
	if after := s.ring(); !bytes.Equal(after.Current, before.Next) || !after.Turned.Equal(start.Add(100*lifetime)) {
		t.Errorf("from %v to %v", before, after)
	}
}

func TestClockThatWasFarAheadDoesNotStopTheRing(t *testing.T) {
	s := newStage()
	s.decide(start.Add(1000 * lifetime))
	s.decide(start)
	if ring := s.ring(); !ring.Turned.Equal(start) {
		t.Errorf("waits for %v", ring.Turned)
	}
}

func TestProfileThatDoesNotResumeHasNoRing(t *testing.T) {
	s := newStage()
	s.decide(start)
	s.profile.EnableSSLSessionReuse = false
	if d := s.decide(start); len(d.Gone) != 1 || !d.Again.IsZero() {
		t.Errorf("reuse is off: %+v", d)
	}
	s.profile.EnableSSLSessionReuse, s.profile.SSLSessionTimeoutS = true, 0
	if d := s.decide(start); len(d.Changed) != 0 {
		t.Errorf("sessions live for no time: %+v", d)
	}
}

func TestNewLifetimeCountsFromTheLastTurnAndNeverTurnsFasterThanTheLeastPeriod(t *testing.T) {
	s := newStage()
	s.decide(start)
	s.profile.SSLSessionTimeoutS = 1
	if d := s.decide(start.Add(time.Second)); len(d.Changed) != 1 || !d.Again.Equal(start.Add(periodMin)) ||
		s.ring().Lifetime != time.Second {
		t.Errorf("a second: %+v", d)
	}
}

func TestTicketsOfOneVirtualServiceAreWorthNothingToAnother(t *testing.T) {
	s := newStage()
	s.decide(start)
	seen := map[string]bool{}
	for _, vs := range []string{"vs-1", "vs-2"} {
		keys := s.ring().Keys(vs)
		for _, key := range keys {
			if len(key) != keyBytes || seen[string(key)] {
				t.Errorf("%s: key of %d bytes, seen before: %v", vs, len(key), seen[string(key)])
			}
			seen[string(key)] = true
		}
		if again := s.ring().Keys(vs); len(keys) != 3 || !bytes.Equal(again[0], keys[0]) {
			t.Errorf("%s: %d keys, not the same twice", vs, len(keys))
		}
	}
}

func TestKeeperDecidesAsDecideDoes(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		kept, rings, now, m := &Keeper{}, Rings(nil), start, &model.Model{}
		profiles := make([]*kinds.SSLProfile, 3)
		for step := range 100 {
			next := *m
			switch at := random.IntN(len(profiles)); random.IntN(4) {
			case 0:
				profile := schema.Defaults[kinds.SSLProfile]()
				profile.UUID, profile.SSLSessionTimeoutS = fmt.Sprint("profile-", at), uint32(random.IntN(3)*100)
				next.VirtualServices = slices.Clone(m.VirtualServices)
				for i, vs := range next.VirtualServices {
					if vs.SSLProfile != nil && vs.SSLProfile == profiles[at] {
						own := *vs
						own.SSLProfile, next.VirtualServices[i] = profile, &own
					}
				}
				profiles[at] = profile
			case 1:
				vs := &model.VirtualService{SSLProfile: profiles[at]}
				vs.UUID = fmt.Sprint("vs-", random.IntN(4))
				edits := map[string]*model.VirtualService{vs.UUID: vs}
				if random.IntN(3) == 0 {
					edits[vs.UUID] = nil
				}
				next.VirtualServices = sorted.Edit(m.VirtualServices, edits, uuidOf)
			default:
				now = now.Add(time.Duration(random.IntN(200)-20) * time.Second)
			}
			m = &next
			secret := func() []byte { return []byte{byte(step)} }
			d, whole := kept.Decide(m, rings, now, secret), Decide(m, rings, now, secret)
			if !reflect.DeepEqual(d, whole) {
				t.Fatalf("seed %d, step %d: %+v, want %+v", seed, step, d, whole)
			}
			edits := map[string]*Ring{}
			for _, ring := range d.Changed {
				edits[ring.Profile] = &ring
			}
			for _, profile := range d.Gone {
				edits[profile] = nil
			}
			if random.IntN(3) > 0 { // else they could not be written
				rings = rings.Edit(edits)
			}
		}
	}
}
