package abuse

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/netip"
	"time"

	"github.com/weir-lb/weir/bench/origin"
	"github.com/weir-lb/weir/client"
)

// row is one abuse.
type row struct {
	name, title string
	attackers   int
	measure     func(context.Context, *run, row) (Finding, error)
	abuse       abuse // of a row that one balancer after the other suffers
	bar         float64
}

// Name is what the command line calls it.
func (r row) Name() string  { return r.name }
func (r row) Title() string { return r.title }

// text says how many do what.
func (r row) text() string { return fmt.Sprintf("%d × %s", r.attackers, r.title) }

// abuse is what is done to one service of a balancer.
type abuse struct {
	behind  behind
	secure  bool          // the attacked service speaks TLS
	http2   bool          // the attacked service speaks HTTP/2, by prior knowledge
	profile client.Object // what an operator sets against it, in Weir's http_profile; nil: the defaults
	weighed bool          // the memory that each attacker takes is of interest
	// attackers come at once and are gone: the row measures what they leave behind, and not their arrival
	brief bool
	begin func(ctx context.Context, count int, service netip.AddrPort) attack
}

// attack is under way from when it is begun until it is ended.
type attack interface {
	Arrived() <-chan struct{} // closed when all attackers have come, or tried to
	End() Toll
}

// behind is the kind of servers behind the attacked service.
type behind int

const (
	small    behind = iota // servers of a small object
	large                  // servers of a large one
	thinking               // a server that answers late
	busy                   // the other service's server, which has few places
)

// attackers of most rows are more than a balancer takes, see Clients.
const attackers = 9400

// profileAgainstDrip is the configuration of an operator whose clients may send slowly, and whose servers take few
// connections.
var profileAgainstDrip = client.Object{
	"enable_request_body_buffering": true, // as in the configurations of nginx and HAProxy
	"weir_min_body_rate":            100,  // bytes a second
}

var rows = append(ofHTTP1, ofHTTP2()...)

var ofHTTP1 = []row{
	suffered("vanish", "clients ask and are gone, while their server thinks for 30 s", attackers,
		abuse{behind: thinking, brief: true, begin: comeAndVanish}),
	suffered("idle", "clients of one address have asked once, and stay", attackers,
		abuse{begin: stay(comers, manners{opening: get("/" + origin.Object), reads: 64 << 10, period: time.Second})}),
	suffered("unread", "clients ask for a large object in TLS and read nothing", attackers,
		abuse{behind: large, secure: true, weighed: true, begin: stay(largeComers,
			manners{opening: get("/" + origin.Object), period: 5 * time.Second}, inTLS, fromFar)}),
	suffered("drip",
		"clients send a byte of their request's body each second to servers with as many places; balancers gather bodies, Weir wants 100 B/s", busyPlaces,
		abuse{behind: busy, profile: profileAgainstDrip, begin: stay(comers,
			manners{opening: post(1 << 20), drip: 'x', period: time.Second})}),
	{name: "api", title: "connections of one address to the controller's API stay, and nobody has logged in on them",
		attackers: 2048, bar: bar,
		measure: measureAPI, abuse: abuse{weighed: true}},
	suffered("heads", "clients send a byte of their request's head each 5 s", attackers,
		abuse{begin: stay(comers, manners{opening: []byte("GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "), drip: 'x',
			period: 5 * time.Second})}),
	suffered("hellos", "clients send a byte of their TLS hello each 5 s", attackers,
		abuse{secure: true, begin: stay(comers, manners{opening: hello(careless)[:helloBytes], drip: 'x',
			period: 5 * time.Second})}),
	suffered("readers", "clients read a large object, 256 bytes each 5 s", attackers,
		abuse{behind: large, weighed: true, begin: stay(largeComers,
			manners{opening: get("/" + origin.Object), reads: 256, period: 5 * time.Second}, fromFar)}),
}

func suffered(name, title string, count int, a abuse) row {
	return row{name: name, title: title, attackers: count, measure: measureBalancers, abuse: a, bar: bar}
}

// helloBytes of a ClientHello are enough to say how long it is.
const helloBytes = 16

func get(path string) []byte { return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path) }

func post(bytes int) []byte {
	return fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", bytes)
}

func comeAndVanish(ctx context.Context, count int, service netip.AddrPort) attack {
	return beginBurst(ctx, count, approach{from: attackerAddress, to: service}, get("/"))
}

// Rates at which staying attackers arrive, per second. They are to fill a table, and not to use CPU time.
const (
	comers      = 3000
	largeComers = 200 // each has some hundred KiB moved
)

func stay(perSecond int, m manners, how ...func(*approach)) func(context.Context, int, netip.AddrPort) attack {
	return func(ctx context.Context, count int, service netip.AddrPort) attack {
		a := approach{from: attackerAddress, to: service}
		for _, tune := range how {
			tune(&a)
		}
		return gather(ctx, count, perSecond, a, m)
	}
}

func inTLS(a *approach)   { a.secure = careless }
func fromFar(a *approach) { a.narrow = true }

// careless trusts any certificate.
var careless = &tls.Config{InsecureSkipVerify: true}
