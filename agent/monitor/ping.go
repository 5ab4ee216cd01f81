package monitor

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"os"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// errPingPermission names what an operator can do about it.
var errPingPermission = errors.New(
	"this engine may not ping: give the agent CAP_NET_RAW, or its group in net.ipv4.ping_group_range")

// family is how one version of IP does echo.
type family struct {
	datagram, raw string // networks of icmp.ListenPacket
	protocol      int
	request       icmp.Type
	reply         icmp.Type
}

var (
	echo4 = family{"udp4", "ip4:icmp", 1, ipv4.ICMPTypeEcho, ipv4.ICMPTypeEchoReply}
	echo6 = family{"udp6", "ip6:ipv6-icmp", 58, ipv6.ICMPTypeEchoRequest, ipv6.ICMPTypeEchoReply}
)

// probePing sends one echo request and waits for its echo.
func probePing(ctx context.Context, target Target) Outcome {
	echo := echo4
	if target.Address.Is6() {
		echo = echo6
	}
	socket, to, err := echo.open(target.Address)
	if err != nil {
		return failed(target, err)
	}
	defer socket.Close()
	endWith(ctx, socket)
	// The kernel replaces the identifier on a datagram socket, so the echo is known by its content.
	content := make([]byte, 16)
	rand.Read(content)
	message := icmp.Message{Type: echo.request, Body: &icmp.Echo{ID: os.Getpid() & 0xffff, Seq: 1, Data: content}}
	packet, err := message.Marshal(nil)
	if err != nil {
		return failed(target, err)
	}
	if _, err := socket.WriteTo(packet, to); err != nil {
		return failed(target, err)
	}
	if err := echo.await(socket, content); err != nil {
		return failed(target, err)
	}
	return Outcome{Up: true}
}

// open prefers the socket type that needs no privilege.
func (f family) open(address netip.Addr) (*icmp.PacketConn, net.Addr, error) {
	ip, zone := net.IP(address.AsSlice()), address.Zone()
	if socket, err := icmp.ListenPacket(f.datagram, ""); err == nil {
		return socket, &net.UDPAddr{IP: ip, Zone: zone}, nil
	}
	socket, err := icmp.ListenPacket(f.raw, "")
	if errors.Is(err, os.ErrPermission) {
		err = errPingPermission
	}
	return socket, &net.IPAddr{IP: ip, Zone: zone}, err
}

// await reads until the echo of our request comes. A raw socket also receives those of others.
func (f family) await(socket *icmp.PacketConn, content []byte) error {
	packet := make([]byte, 1500)
	for {
		n, _, err := socket.ReadFrom(packet)
		if err != nil {
			return err
		}
		message, err := icmp.ParseMessage(f.protocol, packet[:n])
		if err != nil || message.Type != f.reply {
			continue
		}
		if body, ok := message.Body.(*icmp.Echo); ok && bytes.Equal(body.Data, content) {
			return nil
		}
	}
}
