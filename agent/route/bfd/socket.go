package bfd

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"

	wire "github.com/osrg/gobgp/v4/pkg/packet/bfd"
	"golang.org/x/sys/unix"
)

const (
	// port receives BFD over one hop, and sourcePorts send it (RFC 5881 §4).
	port          = 3784
	sourcePortMin = 49152
	sourcePortMax = 65535
	// tries is how many source ports are tried.
	tries = 8
	// hops is the TTL of a packet that no router has forwarded. Other packets are ignored (RFC 5881 §5).
	hops = 255
	// authenticated and multipoint are flags of packets that we do not handle (RFC 5880 §4.1).
	authenticated = 1 << 2
	multipoint    = 1
)

// listen hears packets together with their TTL.
func listen(at netip.AddrPort) (*net.UDPConn, error) {
	address := net.UDPAddrFromAddrPort(at)
	if !at.Addr().IsValid() {
		address.IP = nil
	}
	socket, err := net.ListenUDP("udp", address)
	if err != nil {
		return nil, err
	}
	err = set(socket, func(descriptor int) error {
		six := unix.SetsockoptInt(descriptor, unix.IPPROTO_IPV6, unix.IPV6_RECVHOPLIMIT, 1)
		if four := unix.SetsockoptInt(descriptor, unix.IPPROTO_IP, unix.IP_RECVTTL, 1); six != nil {
			return four // a machine without IPv6
		}
		return nil
	})
	if err != nil {
		socket.Close()
		return nil, err
	}
	return socket, nil
}

// dial speaks to a router from a port of BFD's.
func dial(local netip.Addr, router netip.AddrPort) (*net.UDPConn, error) {
	var failed error
	for range tries {
		from := &net.UDPAddr{Port: sourcePortMin + rand.IntN(sourcePortMax-sourcePortMin+1)}
		if local.IsValid() {
			from.IP = local.AsSlice()
		}
		socket, err := net.DialUDP("udp", from, net.UDPAddrFromAddrPort(router))
		if errors.Is(err, unix.EADDRINUSE) {
			failed = err
			continue
		}
		if err != nil {
			return nil, err
		}
		level, option := unix.IPPROTO_IP, unix.IP_TTL
		if router.Addr().Is6() {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS
		}
		if err := set(socket, func(descriptor int) error {
			return unix.SetsockoptInt(descriptor, level, option, hops)
		}); err != nil {
			socket.Close()
			return nil, err
		}
		return socket, nil
	}
	return nil, failed
}

func set(socket *net.UDPConn, options func(descriptor int) error) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(descriptor uintptr) { failed = options(int(descriptor)) })
	return errors.Join(err, failed)
}

// say sends a packet. An error is ignored, like a packet that is lost in the network.
func say(socket *net.UDPConn, packet *wire.BFDHeader) {
	if bytes, err := packet.MarshalBinary(); err == nil {
		_, _ = socket.Write(bytes)
	}
}

// receive waits for the next packet; nil: the packet is to be ignored. It fails when the socket is closed.
func receive(socket *net.UDPConn, buffer, control []byte) (from netip.Addr, packet *wire.BFDHeader, err error) {
	n, controls, _, sender, err := socket.ReadMsgUDPAddrPort(buffer, control)
	if err != nil || ttl(control[:controls]) != hops {
		return netip.Addr{}, nil, err
	}
	return sender.Addr().Unmap(), parse(buffer[:n]), nil
}

// ttl is the TTL of a packet; 0: the kernel does not report it.
func ttl(control []byte) uint32 {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for _, message := range messages {
		kind := [2]int32{message.Header.Level, message.Header.Type}
		isTTL := kind == [2]int32{unix.IPPROTO_IP, unix.IP_TTL} ||
			kind == [2]int32{unix.IPPROTO_IPV6, unix.IPV6_HOPLIMIT}
		if isTTL && len(message.Data) >= 4 {
			return binary.NativeEndian.Uint32(message.Data)
		}
	}
	return 0
}

// parse checks a packet as far as RFC 5880 §6.8.6 does without a session; nil: it fails.
func parse(bytes []byte) *wire.BFDHeader {
	packet := new(wire.BFDHeader)
	if err := packet.UnmarshalBinary(bytes); err != nil {
		return nil
	}
	if packet.Version != 1 || bytes[1]&(authenticated|multipoint) != 0 || packet.DetectTimeMultiplier == 0 ||
		packet.MyDiscriminator == 0 {
		return nil
	}
	return packet
}
