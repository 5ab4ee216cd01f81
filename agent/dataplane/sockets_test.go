package dataplane

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/lab/ports"
)

// listeningAt is a Plan whose only virtual service listens there.
func listeningAt(all ...netip.AddrPort) *plan.Plan {
	made := &plan.Plan{}
	for i, at := range all {
		made.Listeners = append(made.Listeners, plan.Listener{
			At: at, Service: plan.Object{Kind: "virtualservice", UUID: "vs-1", Name: "shop"},
			Field: fmt.Sprintf("services[%d]", i),
		})
	}
	return made
}

func at(address string, port uint32) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(address), uint16(port))
}

func freePort(t *testing.T) uint32 {
	t.Helper()
	port, err := ports.Free("127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(port)
}

func openFor(t *testing.T, owned sockets, plan *plan.Plan, workers uint32) (places, error) {
	t.Helper()
	wanted := placesOf(plan.Listeners, workers)
	t.Cleanup(owned.closeAll)
	return wanted, owned.open(wanted, new(limit))
}

func TestOpensASocketForEachWorkerAndListener(t *testing.T) {
	owned, port := sockets{}, freePort(t)
	plan := listeningAt(at("127.0.0.1", port), at("::1", port))
	if _, err := openFor(t, owned, plan, 3); err != nil {
		t.Fatal(err)
	}
	if len(owned) != 6 {
		t.Errorf("%d sockets", len(owned))
	}
	for place, descriptor := range owned {
		options := [][2]int{{unix.SOL_SOCKET, unix.SO_REUSEPORT}, {unix.IPPROTO_TCP, unix.TCP_NODELAY}}
		if place.at.Addr().Is6() {
			options = append(options, [2]int{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY})
		}
		for _, option := range options {
			if value, err := unix.GetsockoptInt(descriptor, option[0], option[1]); err != nil || value == 0 {
				t.Errorf("%v: option %v is %d, %v", place, option, value, err)
			}
		}
	}
	client, err := net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port)).String())
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
}

func TestListensOnAnAddressThatIsNotHereYet(t *testing.T) {
	if _, err := openFor(t, sockets{}, listeningAt(at("192.0.2.99", 8443)), 1); err != nil {
		t.Error(err)
	}
}

func TestNamesTheVirtualServiceWhosePortIsInUseAndOpensNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := uint32(netip.MustParseAddrPort(taken.Addr().String()).Port())
	owned := sockets{}
	_, err = openFor(t, owned, listeningAt(
		at("127.0.0.1", freePort(t)), at("127.0.0.1", port),
	), 2)
	var failed *listenError
	if !errors.As(err, &failed) {
		t.Fatalf("got %v", err)
	}
	finding := failed.findings()[0]
	if finding.Kind != "virtualservice" || finding.Name != "shop" || finding.Field != "services[1]" ||
		!strings.HasPrefix(finding.Message, "cannot listen on "+taken.Addr().String()+": another program") {
		t.Errorf("got %v", finding)
	}
	if len(owned) != 0 {
		t.Errorf("%d sockets are left open", len(owned))
	}
}

func TestDoesNotShareAPortWithAnotherEngineOfTheSameUser(t *testing.T) {
	plan := listeningAt(at("127.0.0.1", freePort(t)))
	if _, err := openFor(t, sockets{}, plan, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := openFor(t, sockets{}, plan, 2); !errors.As(err, new(*listenError)) ||
		!strings.Contains(err.Error(), "another program") {
		t.Errorf("got %v", err)
	}
}

func TestClosesOnlyWhatIsNotUsedAnyMore(t *testing.T) {
	owned := sockets{}
	first, second := at("127.0.0.1", freePort(t)), at("127.0.0.1", freePort(t))
	if _, err := openFor(t, owned, listeningAt(first, second), 2); err != nil {
		t.Fatal(err)
	}
	owned.retain(placesOf(listeningAt(second).Listeners, 2))
	for place, descriptor := range owned {
		if place.at != second {
			t.Errorf("%v is still open as %d", place, descriptor)
		}
	}
	if len(owned) != 2 {
		t.Errorf("%d sockets", len(owned))
	}
}

func TestUDPHasPortsOfItsOwnAndASocketForEachWorker(t *testing.T) {
	owned, port := sockets{}, freePort(t)
	made := listeningAt(at("127.0.0.1", port), at("127.0.0.1", port), at("::1", port))
	made.Listeners[1].Protocol, made.Listeners[2].Protocol = plan.ProtocolUDP, plan.ProtocolUDP
	if _, err := openFor(t, owned, made, 2); err != nil || len(owned) != 6 {
		t.Fatalf("%d sockets, %v", len(owned), err)
	}
	for place, descriptor := range owned {
		kind, err := unix.GetsockoptInt(descriptor, unix.SOL_SOCKET, unix.SO_TYPE)
		if err != nil || kind != socketTypes[place.protocol] {
			t.Errorf("%v: type %d, %v", place, kind, err)
		}
	}
}

func TestUDPPortOfAnotherProgramIsNotShared(t *testing.T) {
	other, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	made := listeningAt(netip.MustParseAddrPort(other.LocalAddr().String()))
	made.Listeners[0].Protocol = plan.ProtocolUDP
	owned := sockets{}
	if _, err := openFor(t, owned, made, 1); err == nil || len(owned) != 0 {
		t.Fatalf("%d sockets, %v", len(owned), err)
	} else if !strings.Contains(err.Error(), "/udp: another program") {
		t.Error(err)
	}
}
