// Package tickets decides with which keys engines make and read TLS session tickets. It is a pure function of the
// virtual services and their SSL profiles, the earlier rings, and the time. All engines of a virtual service have the
// same keys, so a client can resume its session on any of them.
//
// An SSL profile has a ring of three secrets. The ring is turned every ssl_session_timeout. Engines know a secret for
// one period before they make tickets with it, and for one period after. The keys of each virtual service are derived
// from the secrets, so the tickets of one virtual service are useless to another. Secrets are in the store and in
// Plans, and never in a log.
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
	// SecretBytes is the length of a secret: that of the SHA-256 from which HKDF derives the keys.
	SecretBytes = 32
	// keyBytes is the length of the key that an engine gets: a name, an AES-256 key, an HMAC-SHA256 key.
	keyBytes = 16 + 32 + 32
	// periodMin is the shortest time between two turns of a ring.
	periodMin = 10 * time.Second
	// missable is the number of periods for which engines make tickets with a secret if they get no other.
	missable = 2
)

// Ring is the secrets of one SSL profile.
type Ring struct {
	Profile  string        `json:"uuid"`
	Lifetime time.Duration `json:"lifetime_ns"` // of a ticket
	Turned   time.Time     `json:"turned"`
	Current  []byte        `json:"current"`  // engines make tickets with it
	Previous []byte        `json:"previous"` // engines made tickets with it before
	Next     []byte        `json:"next"`     // engines will make tickets with it
}

// Rings are the rings of all SSL profiles, sorted by the uuid of the profile. A ring never changes: turning it makes a
// new ring in a new list.
type Rings []*Ring

func (r *Ring) key() string { return r.Profile }

// Of returns the ring of an SSL profile; nil: it has none.
func (all Rings) Of(profileUUID string) *Ring { return sorted.Find(all, profileUUID, (*Ring).key) }

// Edit returns the rings after some edits. Their key is the uuid of the profile; nil removes the ring.
func (all Rings) Edit(edits map[string]*Ring) Rings { return sorted.Edit(all, edits, (*Ring).key) }

// Differing returns the uuids of the profiles whose rings differ between the two lists.
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

// Decision is what Decide changes.
type Decision struct {
	Changed []Ring
	Gone    []string  // uuids of profiles that need no ring any more
	Again   time.Time // when to decide next; zero: there is no ring
}

// Decide turns the rings that are due. It makes the missing rings from new secrets.
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

// lifetimes returns the lifetime of tickets by the uuid of the SSL profile, for profiles that a virtual service uses
// and that allow session reuse.
func lifetimes(m *model.Model) map[string]time.Duration {
	wanted := map[string]time.Duration{}
	for _, vs := range m.VirtualServices {
		for _, profile := range vs.SSLProfiles() {
			if profile.EnableSSLSessionReuse && profile.SSLSessionTimeoutS > 0 {
				wanted[profile.UUID] = time.Duration(profile.SSLSessionTimeoutS) * time.Second
			}
		}
	}
	return wanted
}

// Turn makes the next secret the current one, and adds a new next secret. Engines still read the tickets of the
// previous one. Three turns replace all secrets.
func (r Ring) Turn(now time.Time, secret []byte) Ring {
	r.Previous, r.Current, r.Next, r.Turned = r.Current, r.Next, secret, now
	return r
}

func (r Ring) period() time.Duration { return max(r.Lifetime, periodMin) }

// due is also true for a ring that was turned while the clock was far ahead.
func (r Ring) due(now time.Time) bool {
	age := now.Sub(r.Turned)
	return age >= r.period() || age < -r.period()
}

// Until is the time at which engines stop making tickets, unless they get other keys.
func (r Ring) Until() time.Time { return r.Turned.Add(missable * r.period()) }

// Keys returns the keys of a virtual service. Its engines make tickets with the first one, and read tickets with all of
// them.
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
