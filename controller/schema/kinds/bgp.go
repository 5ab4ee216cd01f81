package kinds

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// BGPProfile defines how engines use BGP in a virtual routing context.
type BGPProfile struct {
	LocalAS         uint32             `json:"local_as" min:"1" required:"true"`
	IBGP            bool               `json:"ibgp" required:"true"`
	Peers           []BGPPeer          `json:"peers" items:"128"`
	KeepaliveS      uint32             `json:"keepalive_interval" max:"3600" default:"60"`
	HoldS           uint32             `json:"hold_time" min:"3" max:"7200" default:"180"`
	SendCommunity   bool               `json:"send_community" default:"true"`
	Communities     []string           `json:"community" items:"16"`
	IPCommunities   []IPCommunity      `json:"ip_communities" items:"1024"`
	LocalPreference uint32             `json:"local_preference"`
	ASPathPrepend   uint32             `json:"num_as_path_prepend" min:"1" max:"10" also:"0"`
	RoutingOptions  []BGPRoutingOption `json:"routing_options" items:"128"`
	Shutdown        bool               `json:"shutdown" default:"false"`
}

// BGPPeer is a router that engines announce routes to. It has an IPv4 address, an IPv6 address, or both, with one
// session at each.
type BGPPeer struct {
	PeerIP                 *IPAddr       `json:"peer_ip"`
	PeerIP6                *IPAddr       `json:"peer_ip6"`
	Subnet                 *IPAddrPrefix `json:"subnet"` // engines without an address in it do not connect to the peer
	Subnet6                *IPAddrPrefix `json:"subnet6"`
	NetworkRef             string        `json:"network_ref"`
	RemoteAS               uint32        `json:"remote_as"` // 0: that of local_as, if ibgp is true
	LocalAS                uint32        `json:"local_as"`  // 0: that of the profile
	IBGPLocalASOverride    bool          `json:"ibgp_local_as_override" default:"false"`
	MD5Secret              string        `json:"md5_secret" secret:"true"`
	BFD                    bool          `json:"bfd" default:"true"`
	AdvertiseVip           bool          `json:"advertise_vip" default:"true"`
	AdvertiseSnatIP        bool          `json:"advertise_snat_ip" default:"true"`
	AdvertisementIntervalS uint32        `json:"advertisement_interval" min:"1" max:"60" default:"5"`
	ConnectTimerS          uint32        `json:"connect_timer" min:"1" max:"120" default:"10"`
	EBGPMultihop           uint32        `json:"ebgp_multihop" max:"255" default:"0"`
	HoldS                  uint32        `json:"hold_time" min:"3" max:"7200" also:"0"` // 0: that of the profile
	KeepaliveS             uint32        `json:"keepalive_interval" max:"3600"`         // 0: that of the profile
	Label                  string        `json:"label"`
	Shutdown               bool          `json:"shutdown" default:"false"`
}

// ListKey identifies a peer by its addresses: if a client removes a peer from the list, the other peers keep their
// secrets.
func (*BGPPeer) ListKey(o schema.Object) string {
	four, _ := o["peer_ip"].(schema.Object)
	six, _ := o["peer_ip6"].(schema.Object)
	return fmt.Sprint(four["addr"], " ", six["addr"])
}

// IPCommunity sets communities for the addresses of a range.
type IPCommunity struct {
	Begin       *IPAddr  `json:"ip_begin" required:"true"`
	End         *IPAddr  `json:"ip_end"` // absent: the range is begin alone
	Communities []string `json:"community" items:"16"`
}

// BGPRoutingOption says which routes engines learn from the peers with a label, and pass on to them.
type BGPRoutingOption struct {
	Label                  string `json:"label"`
	LearnRoutes            bool   `json:"learn_routes" default:"false"`
	LearnOnlyDefaultRoute  bool   `json:"learn_only_default_route" default:"false"`
	AdvertiseDefaultRoute  bool   `json:"advertise_default_route" default:"false"`
	AdvertiseLearnedRoutes bool   `json:"advertise_learned_routes" default:"false"`
	MaxLearnLimit          uint32 `json:"max_learn_limit" min:"50" max:"250" default:"50"`
}

// wellKnownCommunities are the communities with names (RFC 1997, RFC 3765). Avi does not have no-peer.
var wellKnownCommunities = map[string]uint32{
	"internet": 0, "no-export": 0xffffff01, "no-advertise": 0xffffff02, "local-as": 0xffffff03,
}

// md5SecretBytes is the limit of the kernel (TCP_MD5SIG_MAXKEYLEN).
const md5SecretBytes = 80

// Community reads "65000:100", "65000 100" or one of the names in RFC 1997.
func Community(text string) (uint32, error) {
	text = strings.TrimSpace(text)
	if known, ok := wellKnownCommunities[strings.ToLower(text)]; ok {
		return known, nil
	}
	high, low, found := strings.Cut(text, ":")
	if !found {
		high, low, found = strings.Cut(text, " ")
	}
	as, highErr := strconv.ParseUint(high, 10, 16)
	value, lowErr := strconv.ParseUint(strings.TrimSpace(low), 10, 16)
	if !found || highErr != nil || lowErr != nil {
		return 0, fmt.Errorf(
			"%q is not a community; give two numbers of 0 to 65535 as 65000:100, or one of internet, no-export, "+
				"no-advertise, local-AS", text)
	}
	return uint32(as)<<16 | uint32(value), nil
}

// CommunityText writes a community as operators do.
func CommunityText(community uint32) string {
	for name, known := range wellKnownCommunities {
		if known == community {
			return name
		}
	}
	return fmt.Sprintf("%d:%d", community>>16, community&0xffff)
}

// Remote returns the autonomous system of a peer.
func (p *BGPProfile) Remote(peer *BGPPeer) uint32 {
	if peer.RemoteAS == 0 {
		return p.LocalAS
	}
	return peer.RemoteAS
}

// Local returns the autonomous system that engines use in the session with a peer.
func (p *BGPProfile) Local(peer *BGPPeer) uint32 {
	switch {
	case peer.IBGPLocalASOverride:
		return p.Remote(peer)
	case peer.LocalAS != 0:
		return peer.LocalAS
	default:
		return p.LocalAS
	}
}

func (p *BGPProfile) check(at string) *schema.FieldError {
	if problem := checkCommunities(at+"community", p.Communities); problem != nil {
		return problem
	}
	for i, ranged := range p.IPCommunities {
		if problem := ranged.check(fmt.Sprintf("%sip_communities[%d].", at, i)); problem != nil {
			return problem
		}
	}
	if p.KeepaliveS >= p.HoldS {
		return &schema.FieldError{Field: at + "keepalive_interval", Problem: "is not less than hold_time"}
	}
	seen := map[netip.Addr]int{}
	for i := range p.Peers {
		here := fmt.Sprintf("%speers[%d]", at, i)
		if problem := p.checkPeer(here+".", &p.Peers[i]); problem != nil {
			return problem
		}
		for _, ip := range []*IPAddr{p.Peers[i].PeerIP, p.Peers[i].PeerIP6} {
			if ip == nil {
				continue
			}
			if earlier, twice := seen[ip.Address()]; twice {
				return &schema.FieldError{Field: here, Problem: fmt.Sprintf("%s is already peers[%d]",
					ip.Addr, earlier)}
			}
			seen[ip.Address()] = i
		}
	}
	return nil
}

func (p *BGPProfile) checkPeer(at string, peer *BGPPeer) *schema.FieldError {
	if problem := peer.checkAddresses(at); problem != nil {
		return problem
	}
	internal := p.Local(peer) == p.Remote(peer)
	switch {
	case p.IBGP && !internal:
		return &schema.FieldError{Field: at + "remote_as", Problem: fmt.Sprintf(
			"%d is another system than the engines' %d; give that, or ibgp false",
			p.Remote(peer), p.Local(peer))}
	case !p.IBGP && peer.RemoteAS == 0:
		return &schema.FieldError{Field: at + "remote_as", Problem: "is required by ibgp false"}
	case !p.IBGP && internal:
		return &schema.FieldError{
			Field:   at + "remote_as",
			Problem: fmt.Sprintf("%d is the system of the engines too; give another, or ibgp true", peer.RemoteAS),
		}
	case len(peer.MD5Secret) > md5SecretBytes:
		return &schema.FieldError{Field: at + "md5_secret", Problem: fmt.Sprintf(
			"is longer than %d bytes", md5SecretBytes)}
	}
	keepalive, hold := peer.Timers(p)
	if keepalive >= hold {
		return &schema.FieldError{
			Field:   at + "keepalive_interval",
			Problem: fmt.Sprintf("%d is not less than hold_time %d", keepalive, hold),
		}
	}
	return nil
}

// Timers returns the timers of the peer, or else those of the profile, in seconds.
func (b *BGPPeer) Timers(profile *BGPProfile) (keepalive, hold uint32) {
	keepalive, hold = profile.KeepaliveS, profile.HoldS
	if b.KeepaliveS != 0 {
		keepalive = b.KeepaliveS
	}
	if b.HoldS != 0 {
		hold = b.HoldS
	}
	return keepalive, hold
}

func (b *BGPPeer) checkAddresses(at string) *schema.FieldError {
	if b.PeerIP == nil && b.PeerIP6 == nil {
		return &schema.FieldError{Field: at + "peer_ip", Problem: "is required, or peer_ip6"}
	}
	for _, address := range []struct {
		field, kind string
		ip          *IPAddr
		subnet      *IPAddrPrefix
	}{{"peer_ip", "V4", b.PeerIP, b.Subnet}, {"peer_ip6", "V6", b.PeerIP6, b.Subnet6}} {
		if address.ip == nil {
			continue
		}
		if address.ip.Type != address.kind {
			return &schema.FieldError{
				Field:   at + address.field + ".type",
				Problem: address.ip.Type + " does not fit; give " + address.kind,
			}
		}
		if problem := address.ip.literal(at + address.field); problem != nil {
			return problem
		}
		if subnet := address.subnet; subnet != nil && !subnet.Contains(address.ip.Address()) {
			field := strings.Replace(address.field, "peer_ip", "subnet", 1)
			return &schema.FieldError{
				Field:   at + field,
				Problem: fmt.Sprintf("%s/%d does not contain %s", subnet.IPAddr.Addr, subnet.Mask, address.ip.Addr),
			}
		}
	}
	return nil
}

func (c *IPCommunity) check(at string) *schema.FieldError {
	if problem := c.Begin.literal(at + "ip_begin"); problem != nil {
		return problem
	}
	if c.End != nil {
		if problem := c.End.literal(at + "ip_end"); problem != nil {
			return problem
		}
		begin, end := c.Begin.Address(), c.End.Address()
		if begin.Is4() != end.Is4() || end.Less(begin) {
			return &schema.FieldError{
				Field:   at + "ip_end",
				Problem: c.End.Addr + " does not come after ip_begin " + c.Begin.Addr,
			}
		}
	}
	return checkCommunities(at+"community", c.Communities)
}

// Covers tells whether an address is in the range.
func (c *IPCommunity) Covers(address netip.Addr) bool {
	begin, end := c.Begin.Address(), c.Begin.Address()
	if c.End != nil {
		end = c.End.Address()
	}
	return address.Is4() == begin.Is4() && !address.Less(begin) && !end.Less(address)
}

func checkCommunities(field string, communities []string) *schema.FieldError {
	for i, text := range communities {
		if _, err := Community(text); err != nil {
			return &schema.FieldError{Field: fmt.Sprintf("%s[%d]", field, i), Problem: err.Error()}
		}
	}
	return nil
}
