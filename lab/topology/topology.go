// Package topology says what a lab consists of. It reads a topology file and derives every namespace, interface and
// address from it. It builds nothing and does not know the kernel: lab/network builds what it says.
//
// The file determines everything about a name: engine-7 has the same addresses, whichever process attaches it, and
// whenever.
package topology

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"time"

	"github.com/BurntSushi/toml"
)

// Kinds of routers.
const (
	FRR  = "frr"
	BIRD = "bird"
)

// Topology is one file, checked.
type Topology struct {
	Name       string         `toml:"name"`
	VIPs       []netip.Prefix `toml:"vips"`           // engines may announce addresses of these
	Elastic    bool           `toml:"elastic"`        // the controller starts and retires engines by itself
	Keep       bool           `toml:"keep_dataplane"` // engines' data planes outlive their agents
	Router     Router         `toml:"router"`
	Management Group          `toml:"management"` // its count is not used: the controller and every engine
	Engines    Group          `toml:"engines"`
	Servers    Group          `toml:"servers"`
	Clients    Group          `toml:"clients"`
}

// Router is how the router speaks BGP and BFD with the engines.
type Router struct {
	Kind         string `toml:"kind"`
	AS           uint32 `toml:"as"`
	EnginesAS    uint32 `toml:"engines_as"`
	KeepaliveS   int    `toml:"keepalive_s"`
	HoldS        int    `toml:"hold_s"`
	MaximumPaths int    `toml:"maximum_paths"`
	BFDms        int    `toml:"bfd_ms"` // interval of BFD; 0: none
	Password     string `toml:"password"`
}

// Group is hosts of one kind on one network.
type Group struct {
	Subnets   []netip.Prefix `toml:"subnets"`
	Count     int            `toml:"count"`
	Max       int            `toml:"max"`       // 0: count
	Addresses int            `toml:"addresses"` // of each host; 0: one
}

// BFD is the interval of BFD; 0: none.
func (r Router) BFD() time.Duration { return time.Duration(r.BFDms) * time.Millisecond }

// Load reads a file.
func Load(path string) (Topology, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Topology{}, err
	}
	t, err := Parse(string(text))
	if err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Parse reads the text of a file. An unknown key is an error.
func Parse(text string) (Topology, error) {
	var t Topology
	read, err := toml.Decode(text, &t)
	if err != nil {
		return t, err
	}
	if unknown := read.Undecoded(); len(unknown) > 0 {
		return t, fmt.Errorf("%s: is unknown", unknown[0])
	}
	return t, t.Check()
}

// name becomes part of names of namespaces and files. With 32 characters there is room for the path of a unix socket.
var name = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// password goes into configurations of routers, to which some characters have a meaning. TCP signs with this many
// characters at most.
var password = regexp.MustCompile(`^[A-Za-z0-9._~+/=@%-]{0,80}$`)

const enginesMax = 64 // as many as the 1M-TPS report had, and as many paths as its router balances over

// Check names the field that is wrong, and says what it may be.
func (t Topology) Check() error {
	if !name.MatchString(t.Name) {
		return fmt.Errorf("name: %q is not 1 to 32 small letters, digits and -", t.Name)
	}
	if len(t.VIPs) == 0 {
		return fmt.Errorf("vips: give at least one prefix")
	}
	if err := areMasked(t.VIPs); err != nil {
		return fmt.Errorf("vips: %w", err)
	}
	if err := t.Router.check(); err != nil {
		return fmt.Errorf("router: %w", err)
	}
	for _, g := range []struct {
		name     string
		group    Group
		min, max int
	}{{"management", t.Management, 0, 0}, {"engines", t.Engines, 0, enginesMax}, {"servers", t.Servers, 1, 64},
		{"clients", t.Clients, 1, 64}} {
		if err := g.group.check(g.min, g.max); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	if !t.Engines.Subnets[0].Addr().Is4() {
		return fmt.Errorf("engines: subnets: the first must be of IPv4: the router takes its identifier from it")
	}
	if rest := t.Engines.Subnets[1:]; len(rest) > 1 || len(rest) == 1 && rest[0].Addr().Is4() {
		return fmt.Errorf(
			"engines: subnets: give one of IPv4 and at most one of IPv6: engines have one session with the router in each")
	}
	return t.checkOverlap()
}

func (r Router) check() error {
	switch {
	case r.Kind != FRR && r.Kind != BIRD:
		return fmt.Errorf("kind: %q is neither %q nor %q", r.Kind, FRR, BIRD)
	case r.AS == 0 || r.EnginesAS == 0:
		return fmt.Errorf("as, engines_as: give the numbers of autonomous systems")
	case r.KeepaliveS < 1 || r.HoldS < 3*r.KeepaliveS || r.HoldS > 65535:
		return fmt.Errorf("hold_s: must be at least three times keepalive_s, which is at least 1")
	case r.MaximumPaths < 1 || r.MaximumPaths > enginesMax:
		return fmt.Errorf("maximum_paths: must be 1 to %d", enginesMax)
	case r.BFDms != 0 && (r.BFDms < 50 || r.BFDms > 4000):
		return fmt.Errorf("bfd_ms: must be 50 to 4000, or 0 for no BFD")
	case !password.MatchString(r.Password):
		return fmt.Errorf("password: must be at most 80 letters, digits and ._~+/=@%%-")
	}
	return nil
}

func (g Group) check(min, max int) error {
	if len(g.Subnets) == 0 {
		return fmt.Errorf("subnets: give at least one")
	}
	if g.Count < min || g.Count > g.limit() || g.limit() > max {
		return fmt.Errorf("count: must be %d to %d", min, max)
	}
	last := firstHost + g.limit()*g.each()
	if err := areMasked(g.Subnets); err != nil {
		return fmt.Errorf("subnets: %w", err)
	}
	for _, subnet := range g.Subnets {
		if bits := subnet.Addr().BitLen() - subnet.Bits(); bits < 8 || last > 254 {
			return fmt.Errorf(
				"subnets: %s is too small: a subnet is at least a /24 or /120, and takes up to 243 addresses", subnet)
		}
	}
	return nil
}

func areMasked(prefixes []netip.Prefix) error {
	for _, prefix := range prefixes {
		if prefix != prefix.Masked() {
			return fmt.Errorf("%s has host bits: it is %s", prefix, prefix.Masked())
		}
	}
	return nil
}

func (t Topology) checkOverlap() error {
	var seen []netip.Prefix
	for _, prefixes := range [][]netip.Prefix{t.Management.Subnets, t.Engines.Subnets, t.Servers.Subnets,
		t.Clients.Subnets, t.VIPs} {
		for _, prefix := range prefixes {
			for _, other := range seen {
				if prefix.Overlaps(other) {
					return fmt.Errorf("%s and %s overlap", other, prefix)
				}
			}
			seen = append(seen, prefix)
		}
	}
	return nil
}

func (g Group) limit() int { return max(g.Count, g.Max) }
func (g Group) each() int  { return max(1, g.Addresses) }
