package plan

import (
	"net/netip"
	"time"
)

// Router is how an engine speaks BGP.
type Router struct {
	UUID, Name string // of the virtual routing context
	LocalAS    uint32
	Peers      []Peer
}

// Peer is one session with a router. Two equal peers are the same session.
type Peer struct {
	Address netip.Addr
	// Subnet limits the session to engines that have an address in it. Invalid: all engines open the session.
	Subnet         netip.Prefix
	Label          string
	LocalAS        uint32
	RemoteAS       uint32 // the same as LocalAS: internal BGP
	MD5Secret      string // empty: the session is not signed
	Keepalive      time.Duration
	Hold           time.Duration
	ConnectRetry   time.Duration
	MultihopTTL    uint32 // of external BGP; 0: the router is on the same link
	AdvertisesVIPs bool
	BFD            BFD
}

// BFD is how a session is watched.
type BFD struct {
	On         bool
	MinTx      time.Duration
	MinRx      time.Duration
	Multiplier uint8
}

// Advertisement is what routers are told about one virtual service.
type Advertisement struct {
	Demand
	Draws           bool // the engine is to draw clients to it
	VIPs            []VIP
	PeerLabels      []string     // empty: for all peers
	LocalPreference uint32       // to internal peers; 0: not set
	ASPathPrepend   uint32       // to external peers
	WhileDown       bool         // announced though it is down
	Engines         []netip.Addr // addresses of all engines that have a seat of it, sorted
}

// VIP is an address of a virtual service.
type VIP struct {
	Address     netip.Addr
	Communities []uint32
}
