// Package tickets decides by which keys engines make and read TLS session tickets: a pure function of the virtual
// services and their SSL profiles, of what was decided before, and of the time. All engines of a virtual service have
// the same keys, so a client resumes on any of them.
//
// An SSL profile has a ring of three secrets, which is turned every ssl_session_timeout: engines know a secret for one
// period before any makes tickets by it, and for one after. What engines are given is derived for each virtual service,
// so that the tickets of one are worth nothing to another. Secrets are in the store and in Plans, and never in a log.
package tickets

import (
	"crypto/hkdf"
	"crypto/sha256"
	"maps"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/sorted"
)

const (
	// SecretBytes is the length of a secret, as much as is derived from.
	SecretBytes = 32
	// keyBytes of what an engine is given: a name, a key of AES-256, a key of HMAC-SHA256.
	keyBytes = 16 + 32 + 32
	// periodMin is how often a ring is turned at most.
	periodMin = 10 * time.Second
	// missable is for how many periods engines make tickets by a secret when they hear of no other.
	missable = 2
)

// Ring is the secrets of an SSL profile.
type Ring struct {
	Profile  string        `json:"uuid"`
	Lifetime time.Duration `json:"lifetime_ns"` // of a ticket
	Turned   time.Time     `json:"turned"`
	Current  []byte        `json:"current"`  // makes tickets
	Previous []byte        `json:"previous"` // made them before
	Next     []byte        `json:"next"`     // will
}

// Rings are those of all SSL profiles, in the order of the profiles' uuids. They never change: one that is turned is
// another pointer in another list.
type Rings []*Ring

func (r *Ring) key() string { return r.Profile }

// Of is the ring of an SSL profile; nil: it has none.
func (all Rings) Of(profileUUID string) *Ring { return sorted.Find(all, profileUUID, (*Ring).key) }

// Edit gives the rings after some have changed, by profile; nil: it is gone.
func (all Rings) Edit(edits map[string]*Ring) Rings { return sorted.Edit(all, edits, (*Ring).key) }

// Differing are the uuids of the profiles whose rings are not the same in both.
func (all Rings) Differing(after Rings) map[string]bool {
	differing := map[string]bool{}
	for was, is := range sorted.Differences(all, after, (*Ring).key) {
		if was == nil {
			was = is
		}
		differing[was.Profile] = true
	}
	return differing
}

// Decision is what follows.
type Decision struct {
	Changed []Ring
	Gone    []string  // uuids of profiles that need no ring any more
	Again   time.Time // decide again then; zero: no need
}

// Decide turns the rings whose time has come, and makes those that are missing of secrets that nobody has seen.
func Decide(m *model.Model, before Rings, now time.Time, secret func() []byte) Decision {
	var d Decision
	wanted := lifetimes(m)
	for _, profile := range slices.Sorted(maps.Keys(wanted)) {
		ring, known := Ring{}, before.Of(profile)
		if known != nil {
			ring = *known
		} else {
			ring = Ring{Profile: profile, Turned: now, Current: secret(), Previous: secret(), Next: secret()}
		}
		changed := known == nil || ring.Lifetime != wanted[profile]
		ring.Lifetime = wanted[profile]
		if ring.due(now) {
			ring, changed = ring.Turn(now, secret()), true
		}
		if changed {
			d.Changed = append(d.Changed, ring)
		}
		if end := ring.Turned.Add(ring.period()); d.Again.IsZero() || end.Before(d.Again) {
			d.Again = end
		}
	}
	for _, ring := range before {
		if _, kept := wanted[ring.Profile]; !kept {
			d.Gone = append(d.Gone, ring.Profile)
		}
	}
	return d
}

// lifetimes of the tickets by the uuids of the SSL profiles whose virtual services resume sessions.
func lifetimes(m *model.Model) map[string]time.Duration {
	wanted := map[string]time.Duration{}
	for _, vs := range m.VirtualServices {
		if profile := vs.SSLProfile; profile != nil && profile.EnableSSLSessionReuse && profile.SSLSessionTimeoutS > 0 {
			wanted[profile.UUID] = time.Duration(profile.SSLSessionTimeoutS) * time.Second
		}
	}
	return wanted
}

// Turn has the secret that engines know make tickets, and another be known. Tickets of the one before are still read:
// whoever wants to have all secrets replaced turns three times.
func (r Ring) Turn(now time.Time, secret []byte) Ring {
	r.Previous, r.Current, r.Next, r.Turned = r.Current, r.Next, secret, now
	return r
}

func (r Ring) period() time.Duration { return max(r.Lifetime, periodMin) }

// due also tells of a ring that was turned while the clock was far ahead.
func (r Ring) due(now time.Time) bool {
	age := now.Sub(r.Turned)
	return age >= r.period() || age < -r.period()
}

// Until is when engines stop to make tickets, unless they are told of other keys.
func (r Ring) Until() time.Time { return r.Turned.Add(missable * r.period()) }

// Keys are what the engines of a virtual service make tickets by, the first, and read them by, all of them.
func (r Ring) Keys(virtualServiceUUID string) [][]byte {
	var keys [][]byte
	for _, secret := range [][]byte{r.Current, r.Previous, r.Next} {
		key, err := hkdf.Expand(sha256.New, secret, "weir session ticket "+virtualServiceUUID, keyBytes)
		if err != nil {
			return nil // RFC 5869 §2.3 gives 8,160 bytes
		}
		keys = append(keys, key)
	}
	return keys
}
