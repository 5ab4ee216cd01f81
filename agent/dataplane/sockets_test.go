package dataplane

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

func service(listeners ...*dataplanev1.Listener) *dataplanev1.Plan {
	return &dataplanev1.Plan{VirtualServices: []*dataplanev1.VirtualService{{Uuid: "vs-1", Name: "shop", Listeners: listeners}}}
}

func freePort(t *testing.T) uint32 {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return uint32(netip.MustParseAddrPort(listener.Addr().String()).Port())
}

func openFor(t *testing.T, owned sockets, plan *dataplanev1.Plan, workers uint32) (places, error) {
	t.Helper()
	wanted, err := placesOf(plan, workers)
	if err != nil {
		return nil, err
	}
	t.Cleanup(owned.closeAll)
	return wanted, owned.open(wanted, func(netip.Addr) int { return 0 })
}

func TestOpensASocketForEachWorkerAndListener(t *testing.T) {
	owned, port := sockets{}, freePort(t)
	plan := service(&dataplanev1.Listener{Address: "127.0.0.1", Port: port}, &dataplanev1.Listener{Address: "::1", Port: port})
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
	if _, err := openFor(t, sockets{}, service(&dataplanev1.Listener{Address: "192.0.2.99", Port: 8443}), 1); err != nil {
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
	_, err = openFor(t, owned, service(
		&dataplanev1.Listener{Address: "127.0.0.1", Port: freePort(t)}, &dataplanev1.Listener{Address: "127.0.0.1", Port: port},
	), 2)
	var failed *listenError
	if !errors.As(err, &failed) {
		t.Fatalf("got %v", err)
	}
	finding := failed.finding()
	if finding.GetKind() != "virtualservice" || finding.GetName() != "shop" || finding.GetField() != "services[1]" ||
		!strings.HasPrefix(finding.GetMessage(), "cannot listen on "+taken.Addr().String()+": another program") {
		t.Errorf("got %v", finding)
	}
	if len(owned) != 0 {
		t.Errorf("%d sockets are left open", len(owned))
	}
}

func TestDoesNotShareAPortWithAnotherEngineOfTheSameUser(t *testing.T) {
	plan := service(&dataplanev1.Listener{Address: "127.0.0.1", Port: freePort(t)})
	if _, err := openFor(t, sockets{}, plan, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := openFor(t, sockets{}, plan, 2); !errors.As(err, new(*listenError)) || !strings.Contains(err.Error(), "another program") {
		t.Errorf("got %v", err)
	}
}

func TestRefusesAListenerThatIsNoAddressAndPort(t *testing.T) {
	for _, listener := range []*dataplanev1.Listener{
		{Address: "shop.example", Port: 80}, {Address: "192.0.2.1"}, {Address: "192.0.2.1", Port: 65536}, {Port: 80},
	} {
		if _, err := placesOf(service(listener), 1); err == nil {
			t.Errorf("takes %v", listener)
		}
	}
}

func TestClosesOnlyWhatIsNotUsedAnyMore(t *testing.T) {
	owned := sockets{}
	first, second := &dataplanev1.Listener{Address: "127.0.0.1", Port: freePort(t)}, &dataplanev1.Listener{Address: "127.0.0.1", Port: freePort(t)}
	if _, err := openFor(t, owned, service(first, second), 2); err != nil {
		t.Fatal(err)
	}
	kept, err := placesOf(service(second), 2)
	if err != nil {
		t.Fatal(err)
	}
	owned.retain(kept)
	for place, descriptor := range owned {
		if uint32(place.at.Port()) != second.GetPort() {
			t.Errorf("%v is still open as %d", place, descriptor)
		}
	}
	if len(owned) != 2 {
		t.Errorf("%d sockets", len(owned))
	}
}
