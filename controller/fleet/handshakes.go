package fleet

import (
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// Handshakes is what TLS handshakes with clients agreed on. All fields are Other for those that engines count together,
// because they keep few rows for each virtual service.
type Handshakes struct {
	Version     string // "TLS 1.3"
	CipherSuite string // IANA's name
	Group       string // of the key exchange; empty: a session was resumed without one
	Key         string // what the certificate signs with: "RSA", "ECDSA", "EdDSA"; empty: a session was resumed
	Resumed     string // "true", "false"
}

// Other stands for what is counted together.
const Other = "other"

// handshakePrefix is that of a counter of handshakes, before what they agreed on. No name has a slash.
const handshakePrefix = "tls_handshakes/"

// HandshakeFailure is the prefix of a counter of failed handshakes, before the reason.
const HandshakeFailure = "tls_failures_"

// counter is the name of the counter in a Tally.
func (h Handshakes) counter() string {
	return handshakePrefix + strings.Join([]string{h.Version, h.CipherSuite, h.Group, h.Key, h.Resumed}, "/")
}

// HandshakesOf returns what the handshakes agreed on that a counter of a Tally counts. false: it counts something else.
func HandshakesOf(counter string) (Handshakes, bool) {
	rest, is := strings.CutPrefix(counter, handshakePrefix)
	parts := strings.Split(rest, "/")
	if !is || len(parts) != 5 {
		return Handshakes{}, false
	}
	return Handshakes{parts[0], parts[1], parts[2], parts[3], parts[4]}, true
}

// handshakes are the counts of handshakes by what they agreed on, and of failed ones by the reason. Engines of earlier
// versions do not tell.
func handshakes(now, then *dataplanev1.VirtualServiceCounters) (counts []count) {
	earlier := map[Handshakes]uint64{}
	for _, row := range then.GetTls().GetRows() {
		earlier[agreedBy(row)] += row.GetTotal()
	}
	for _, row := range now.GetTls().GetRows() {
		is := agreedBy(row)
		counts = append(counts, count{name: is.counter(), now: row.GetTotal(), then: earlier[is]})
	}
	others := func(of *dataplanev1.VirtualServiceCounters) uint64 {
		if of.GetTls() == nil {
			return of.GetTlsHandshakesTotal()
		}
		return of.GetTls().GetOthersTotal()
	}
	if total := others(now); total > 0 {
		other := Handshakes{Other, Other, Other, Other, Other}
		counts = append(counts, count{name: other.counter(), now: total, then: others(then)})
	}
	return append(counts, causes(HandshakeFailure, now.GetTls().GetFailures(), then.GetTls().GetFailures())...)
}

func agreedBy(row *dataplanev1.TlsRow) Handshakes {
	is := Handshakes{Version: plain(row.GetVersion()), CipherSuite: plain(row.GetCipherSuite()),
		Group: plain(row.GetGroup()), Key: plain(row.GetKey()), Resumed: "false"}
	if row.GetResumed() {
		is.Resumed = "true"
	}
	return is
}

// plain is a name without what separates names.
func plain(name string) string { return strings.ReplaceAll(name, "/", "_") }

// methods are the names of counters of requests, in the order in which engines count them.
var methods = [...]string{"get", "head", "post", "put", "delete", "options", "trace", "patch", Other}

// byMethod are counts of requests by their method, without those that never came.
func byMethod(now, then []uint64) (counts []count) {
	for i, total := range now {
		if i >= len(methods) || total == 0 {
			continue
		}
		c := count{name: "requests_" + methods[i], now: total}
		if i < len(then) {
			c.then = then[i]
		}
		counts = append(counts, c)
	}
	return counts
}

// causes are counts of failures by their cause, behind a prefix.
func causes(prefix string, now, then []*dataplanev1.ErrorCounter) (counts []count) {
	for _, failure := range now {
		counts = append(counts, count{name: prefix + failure.GetCause(), now: failure.GetTotal(),
			then: errorsIn(then, failure.GetCause())})
	}
	return counts
}
