package fastpath

import (
	"net"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/weir-lb/weir/fastpath/detour"
	"github.com/weir-lb/weir/tests/alone"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryProgramIsKnownByTheNameOfItsFolder(t *testing.T) {
	sources, err := filepath.Glob("../../fastpath/*/*.c")
	must(t, err)
	places := map[uint16]string{}
	for _, source := range sources {
		name := filepath.Base(filepath.Dir(source))
		program, known := programs[name]
		if !known {
			t.Errorf("%s is not known", name)
		} else if other, taken := places[program.priority]; taken {
			t.Errorf("%s is at the place of %s", name, other)
		}
		places[program.priority] = name
	}
	if len(sources) != len(programs) {
		t.Errorf("%d programs are known, and there are %v", len(programs), sources)
	}
}

func TestProgramsStandBesideEachOtherAndGoOneByOne(t *testing.T) {
	alone.Stand(t)
	own := netip.MustParseAddr("10.1.0.11")
	attributes := netlink.NewLinkAttrs()
	attributes.Name = "uplink"
	uplink := &netlink.Veth{LinkAttrs: attributes, PeerName: "peer"}
	must(t, netlink.LinkAdd(uplink))
	must(t, netlink.AddrAdd(uplink, &netlink.Addr{IPNet: &net.IPNet{IP: own.AsSlice(), Mask: net.CIDRMask(24, 32)}}))

	objects := &detour.KernelObjects{}
	must(t, New().Load(Detour, objects))
	defer objects.Close()
	first, second := For(Detour), Uplinks{program: program{priority: programs[Detour].priority + 1}}
	must(t, first.Attach([]netip.Addr{own}, objects.Uplink))
	must(t, second.Attach([]netip.Addr{own}, objects.Uplink))
	expect := func(want ...uint16) {
		t.Helper()
		filters, err := netlink.FilterList(uplink, netlink.HANDLE_MIN_INGRESS)
		must(t, err)
		if len(filters) != len(want) {
			t.Fatalf("%d programs, want %d", len(filters), len(want))
		}
		for i, filter := range filters {
			if got := filter.Attrs().Priority; got != want[i] {
				t.Errorf("program %d is at %x, want %x", i, got, want[i])
			}
		}
	}
	expect(first.program.priority, second.program.priority)
	must(t, first.Detach())
	expect(second.program.priority)
	must(t, second.DetachFromAll())
	expect()
}
