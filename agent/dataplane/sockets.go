package dataplane

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/plan"
)

// backlog asks for the most; the kernel takes net.core.somaxconn when that is less.
const backlog = 65535

// receiveBytes is the room for datagrams of one UDP socket: some five thousand short ones.
const receiveBytes = 4 << 20

// slot is the place of one socket: each worker has its own at every address.
type slot struct {
	at       netip.AddrPort
	protocol plan.Protocol
	worker   uint32
}

// sockets are the sockets for clients that the agent owns: listening TCP sockets and bound UDP sockets. They are bare
// descriptors because an os.File would put them into the Go runtime's poller, which would then wake for every
// connection that a client makes.
type sockets map[slot]int

// places are where a Plan listens, each with who wants it.
type places map[slot]plan.Listener

// listenError says for which virtual service the agent cannot listen, or stop to.
type listenError struct {
	plan.Listener
	stops bool
	cause error
}

func (e *listenError) Error() string {
	what := "listen"
	if e.stops {
		what = "stop listening"
	}
	return fmt.Sprintf("cannot %s on %s%s: %s", what, e.At, e.suffix(), explain(e.cause))
}

// suffix names the protocol where it is not the usual one.
func (e *listenError) suffix() string {
	if e.Protocol == plan.ProtocolTCP {
		return ""
	}
	return "/" + e.Protocol.String()
}

func (e *listenError) findings() []plan.Finding {
	return []plan.Finding{{Object: e.Service, Field: e.Field, Message: e.Error()}}
}

// explain adds what to do to what the kernel says.
func explain(cause error) string {
	switch {
	case errors.Is(cause, unix.EADDRINUSE):
		return "another program on this engine listens there; stop it or choose another port"
	case errors.Is(cause, unix.EACCES):
		return "no permission for a port this low; give the agent CAP_NET_BIND_SERVICE or choose another port"
	case errors.Is(cause, unix.EMFILE), errors.Is(cause, unix.ENFILE):
		return "no file descriptors left; raise the agent's limit (LimitNOFILE)"
	case errors.Is(cause, unix.EAFNOSUPPORT), errors.Is(cause, unix.EADDRNOTAVAIL):
		return "this engine has no such kind of address (is IPv6 disabled?)"
	default:
		return cause.Error()
	}
}

// placesOf lists the places of listeners with so many workers.
func placesOf(listeners []plan.Listener, workers uint32) places {
	all := places{}
	for _, listener := range listeners {
		for worker := range workers {
			all[slot{listener.At, listener.Protocol, worker}] = listener
		}
	}
	return all
}

// open adds the sockets that are missing. When one cannot be had, none is added.
func (s sockets) open(places places, segments Segments) error {
	var opened []slot
	for _, place := range slices.SortedFunc(maps.Keys(places), compareSlots) {
		if _, have := s[place]; have {
			continue
		}
		err := s.claim(place)
		var descriptor int
		if err == nil {
			descriptor, err = listen(place)
		}
		if err != nil {
			s.close(opened)
			return &listenError{places[place], false, err}
		}
		limitSegment(place, descriptor, segments.MaxSegment(place.at.Addr()))
		s[place] = descriptor
		opened = append(opened, place)
	}
	return nil
}

// limitSegments applies the present limits to all future clients at some addresses.
func (s sockets) limitSegments(segments Segments, at func(netip.Addr) bool) {
	for place, descriptor := range s {
		if address := place.at.Addr(); at(address) {
			limitSegment(place, descriptor, segments.MaxSegment(address))
		}
	}
}

// limitSegment makes future clients send segments of at most this many bytes; 0: no limit. If the kernel refuses, no
// connection is lost.
func limitSegment(place slot, descriptor, segment int) {
	if place.protocol != plan.ProtocolTCP {
		return
	}
	_ = unix.SetsockoptInt(descriptor, unix.IPPROTO_TCP, unix.TCP_MAXSEG, segment)
}

// claim makes sure that no other program listens at a place. Binding with SO_REUSEPORT would not tell: it succeeds
// among programs of one user, and the kernel then divides our clients among them.
func (s sockets) claim(place slot) error {
	if s.claimed(place) {
		return nil
	}
	descriptor, err := bind(place, claimOptions[place.protocol])
	if err != nil {
		return err
	}
	return unix.Close(descriptor)
}

// claimed tells whether we listen there already, or at an address that the kernel takes for the same. The first worker
// is the first to listen.
func (s sockets) claimed(wanted slot) bool {
	at := wanted.at
	if at.Addr().IsUnspecified() {
		for place := range s {
			if place.at.Port() == at.Port() && place.protocol == wanted.protocol {
				return true
			}
		}
		return false
	}
	for _, address := range []netip.Addr{at.Addr(), netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		if _, have := s[slot{netip.AddrPortFrom(address, at.Port()), wanted.protocol, 0}]; have {
			return true
		}
	}
	return false
}

// compareSlots orders by worker within an address, so that the kernel's reuseport group has worker n at index n.
func compareSlots(a, b slot) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.worker, b.worker))
}

// close closes the sockets of these places and returns the places.
func (s sockets) close(places []slot) []slot {
	for _, place := range places {
		if descriptor, have := s[place]; have {
			unix.Close(descriptor)
			delete(s, place)
		}
	}
	return places
}

// retain closes the sockets of every other place, and returns those places.
func (s sockets) retain(places places) (closed []slot) {
	for place := range s {
		if _, wanted := places[place]; !wanted {
			closed = append(closed, place)
		}
	}
	return s.close(closed)
}

func (s sockets) closeAll() {
	s.close(slices.Collect(maps.Keys(s)))
}

// option is one of a socket, to be set to value.
type option struct{ level, name, value int }

// reuseAddress lets a listening socket bind while earlier connections of its port still end. For UDP it would allow
// another program to take our datagrams.
var reuseAddress = option{unix.SOL_SOCKET, unix.SO_REUSEADDR, 1}

// claimOptions are the options of a socket that only tells whether a port is free.
var claimOptions = map[plan.Protocol][]option{plan.ProtocolTCP: {reuseAddress}}

// listenOptions are the options that accepted connections inherit, and the one that lets each worker have its own
// socket.
var listenOptions = map[plan.Protocol][]option{
	plan.ProtocolTCP: {reuseAddress, {unix.SOL_SOCKET, unix.SO_REUSEPORT, 1}, {unix.IPPROTO_TCP, unix.TCP_NODELAY, 1}},
	plan.ProtocolUDP: {{unix.SOL_SOCKET, unix.SO_REUSEPORT, 1}},
}

// bindOptions allow to bind a VIP that comes to this machine only later, or that only the router has.
var bindOptions = map[int][]option{
	unix.AF_INET:  {{unix.IPPROTO_IP, unix.IP_FREEBIND, 1}},
	unix.AF_INET6: {{unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1}, {unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1}},
}

var socketTypes = map[plan.Protocol]int{plan.ProtocolTCP: unix.SOCK_STREAM, plan.ProtocolUDP: unix.SOCK_DGRAM}

// listen makes one of the sockets of an address.
func listen(place slot) (descriptor int, err error) {
	descriptor, err = bind(place, listenOptions[place.protocol])
	if err != nil {
		return 0, err
	}
	if place.protocol == plan.ProtocolUDP {
		widen(descriptor)
		return descriptor, nil
	}
	if err := unix.Listen(descriptor, backlog); err != nil {
		unix.Close(descriptor)
		return 0, err
	}
	return descriptor, nil
}

// widen makes room for datagrams that arrive while a worker does something else. What does not fit is lost. The kernel
// allows more than net.core.rmem_max only to an agent with CAP_NET_ADMIN; without it, the rest of the room is missing.
func widen(descriptor int) {
	if unix.SetsockoptInt(descriptor, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBytes) != nil {
		_ = unix.SetsockoptInt(descriptor, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBytes)
	}
}

func bind(place slot, options []option) (descriptor int, err error) {
	at, family := place.at, unix.AF_INET
	if at.Addr().Is6() {
		family = unix.AF_INET6
	}
	descriptor, err = unix.Socket(family, socketTypes[place.protocol]|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	for _, option := range slices.Concat(bindOptions[family], options) {
		err = errors.Join(err, unix.SetsockoptInt(descriptor, option.level, option.name, option.value))
	}
	if err == nil {
		err = unix.Bind(descriptor, address(at))
	}
	if err != nil {
		unix.Close(descriptor)
		return 0, err
	}
	return descriptor, nil
}

func address(at netip.AddrPort) unix.Sockaddr {
	if at.Addr().Is6() {
		return &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
	}
	return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
}
