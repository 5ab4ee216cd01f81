package route

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"slices"

	"github.com/osrg/gobgp/v4/api"
	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/plan"
)

// pauseAfterResetS is the pause before the next session after a reset; the library's default is half a minute.
const pauseAfterResetS = 1

// neighbours are the sessions with a router that this engine can have. A peer with a subnet is for engines with an
// address in it, and the session uses that address.
func neighbours(router *plan.Router, own []netip.Addr) map[netip.Addr]*session {
	wanted := map[netip.Addr]*session{}
	if router == nil {
		return wanted
	}
	for _, peer := range router.Peers {
		local := addressIn(peer.Subnet, own)
		if !peer.Subnet.IsValid() || local.IsValid() {
			wanted[peer.Address] = &session{config: peer, local: local}
		}
	}
	return wanted
}

// addressIn is this engine's address in a subnet; invalid: it has none.
func addressIn(subnet netip.Prefix, own []netip.Addr) netip.Addr {
	for _, address := range own {
		if subnet.Contains(address) {
			return address
		}
	}
	return netip.Addr{}
}

// exceptVIPs leaves out VIPs, because other engines have them, too.
func exceptVIPs(own, vips []netip.Addr) []netip.Addr {
	return slices.DeleteFunc(own, func(address netip.Addr) bool { return slices.Contains(vips, address) })
}

// ownAddresses are those of this machine's interfaces.
func ownAddresses() []netip.Addr {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var own []netip.Addr
	for _, address := range found {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			own = append(own, prefix.Addr().Unmap())
		}
	}
	return own
}

// Addresses are those from which a Plan has this engine speak to routers, and the next hops of its routes, IPv4 first.
// Other engines know the first one. There is none when there is no router.
func Addresses(plan *plan.Plan) []netip.Addr {
	return speaksFrom(neighbours(plan.BGP(), exceptVIPs(ownAddresses(), plan.VIPs())))
}

func speaksFrom(peers map[netip.Addr]*session) (all []netip.Addr) {
	for address, peer := range peers {
		from := peer.local
		if !from.IsValid() {
			from = sourceTowards(address)
		}
		if from.IsValid() && !from.IsLoopback() && !slices.Contains(all, from) {
			all = append(all, from)
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return all
}

// routerID is an IPv4 address of a session, which operators can recognise. Without one it is a number that no other
// engine has.
func routerID(peers map[netip.Addr]*session, engineUUID string) netip.Addr {
	if from := speaksFrom(peers); len(from) > 0 && from[0].Is4() {
		return from[0]
	}
	hash := fnv.New32a()
	hash.Write([]byte(engineUUID))
	return netip.AddrFrom4([4]byte(hash.Sum([]byte(nil))))
}

// sourceTowards is the source address that the kernel would use. No packet is sent.
func sourceTowards(address netip.Addr) netip.Addr {
	socket, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(address, 179)))
	if err != nil {
		return netip.Addr{}
	}
	defer socket.Close()
	return socket.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
}

// neighbour is a peer as GoBGP takes it.
func neighbour(address netip.Addr, peer *session, port uint16) *api.Peer {
	config := peer.config
	made := &api.Peer{
		Conf: &api.PeerConf{
			NeighborAddress: address.String(), PeerAsn: config.RemoteAS, LocalAsn: config.LocalAS,
			AuthPassword: config.MD5Secret,
		},
		Timers: &api.Timers{Config: &api.TimersConfig{
			ConnectRetry: uint64(config.ConnectRetry.Seconds()), HoldTime: uint64(config.Hold.Seconds()),
			KeepaliveInterval: uint64(config.Keepalive.Seconds()), IdleHoldTimeAfterReset: pauseAfterResetS,
		}},
		Transport: &api.Transport{RemotePort: uint32(port)},
		AfiSafis:  []*api.AfiSafi{{Config: &api.AfiSafiConfig{Family: familyOf(address), Enabled: true}}},
	}
	if peer.local.IsValid() {
		made.Transport.LocalAddress = peer.local.String()
	}
	if hops := config.MultihopTTL; hops > 1 && config.RemoteAS != config.LocalAS {
		made.EbgpMultihop = &api.EbgpMultihop{Enabled: true, MultihopTtl: hops}
	}
	return made
}

// familyOf is the address family of a session; a session carries only routes of its own family.
func familyOf(address netip.Addr) *api.Family {
	if address.Is4() {
		return &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST}
	}
	return &api.Family{Afi: api.Family_AFI_IP6, Safi: api.Family_SAFI_UNICAST}
}

// canSign says why a session with a password cannot be signed. We never open it unsigned instead.
func canSign(peer *plan.Peer) error {
	if peer.MD5Secret == "" {
		return nil
	}
	if err := CanSign(); err != nil {
		return fmt.Errorf("it has an md5_secret, which cannot be used: %w", err)
	}
	return nil
}

// CanSign tries whether this kernel can sign TCP segments (RFC 2385).
func CanSign() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	signature := unix.TCPMD5Sig{Keylen: 1, Key: [80]byte{'k'}}
	signature.Addr.Family = unix.AF_INET
	err = unix.SetsockoptTCPMD5Sig(socket, unix.IPPROTO_TCP, unix.TCP_MD5SIG, &signature)
	if errors.Is(err, unix.ENOPROTOOPT) {
		return errors.New("this kernel cannot sign TCP segments: it takes one with CONFIG_TCP_MD5SIG")
	}
	return nil
}
