package route

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/topology"
)

// elsewhere runs a test in a network namespace of its own, where the interface lo is up.
func elsewhere(t *testing.T, do func() error) {
	t.Helper()
	if err := network.CheckRoot(); err != nil {
		t.Skip(err)
	}
	n, err := network.Create(fmt.Sprintf("vips-%d", os.Getpid()))
	must(t, err)
	t.Cleanup(func() {
		if err := n.Remove(); err != nil {
			t.Error(err)
		}
	})
	space, err := n.Attach(topology.Node{Name: topology.EngineName(1)})
	must(t, err)
	must(t, space.Run(do))
}

// onLoopback are the addresses of lo beside its own.
func onLoopback() ([]string, error) {
	link, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, err
	}
	found, err := netlink.AddrList(link, netlink.FAMILY_ALL)
	var addresses []string
	for _, address := range found {
		if !address.IP.IsLoopback() {
			addresses = append(addresses, address.IPNet.String())
		}
	}
	slices.Sort(addresses)
	return addresses, err
}

func addressesOf(texts ...string) (all []netip.Addr) {
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func TestHoldsTheVIPsOfThePlanOnItsInterface(t *testing.T) {
	elsewhere(t, func() error {
		expect := func(when string, want ...string) error {
			got, err := onLoopback()
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("%s: lo has %v, want %v", when, got, want)
			}
			return err
		}
		// somebody else adds an address there
		theirs := newVIPs("lo", nil, slog.New(slog.DiscardHandler))
		theirs.hold(addressesOf("3.3.3.9"))
		v := newVIPs("lo", nil, slog.New(slog.DiscardHandler))
		v.hold(addressesOf("3.3.3.3", "fd03::3", "3.3.3.9"))
		if err := expect("held", "3.3.3.3/32", "3.3.3.9/32", "fd03::3/128"); err != nil {
			return err
		}
		// the agent after a crash
		next := newVIPs("lo", addressesOf("3.3.3.3", "fd03::3"), slog.New(slog.DiscardHandler))
		next.hold(addressesOf("3.3.3.4", "fd03::3"))
		if err := expect("another Plan", "3.3.3.4/32", "3.3.3.9/32", "fd03::3/128"); err != nil {
			return err
		}
		next.clear()
		return expect("the end", "3.3.3.9/32")
	})
}

func TestInheritedVIPsStayOnTheirInterfaceUntilAPlanIsHeld(t *testing.T) {
	elsewhere(t, func() error {
		before := newVIPs("lo", nil, slog.New(slog.DiscardHandler)) // of the agent before this one
		before.hold(addressesOf("3.3.3.3"))
		w := newWorld(Config{Interface: "lo", Keep: true, Plan: planOf(
			service{uuid: "web", addresses: []string{"3.3.3.3"}})})
		w.reconcile()
		if got, err := onLoopback(); err != nil || !slices.Equal(got, []string{"3.3.3.3/32"}) {
			return fmt.Errorf("no Plan is held: lo has %v, %v", got, err)
		}
		w.Applied(planOf(service{uuid: "web", addresses: []string{"3.3.3.4"}}))
		w.reconcile()
		if got, err := onLoopback(); err != nil || !slices.Equal(got, []string{"3.3.3.4/32"}) {
			return fmt.Errorf("another Plan is held: lo has %v, %v", got, err)
		}
		return nil
	})
}

func TestSaysOnceWhyAVIPIsNotOnItsInterface(t *testing.T) {
	var log bytes.Buffer
	v := newVIPs("no-such-link", nil, slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		if absent := v.hold(addressesOf("3.3.3.3")); !absent[netip.MustParseAddr("3.3.3.3")] {
			t.Error("it is taken for held")
		}
	}
	if said := log.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "no-such-link") ||
		!strings.Contains(said, "3.3.3.3") {
		t.Errorf("said %q", said)
	}
}

func TestLeavesInterfacesAloneWhereNoneIsNamed(t *testing.T) {
	v := newVIPs("", addressesOf("3.3.3.3"), slog.New(slog.DiscardHandler))
	if absent := v.hold(addressesOf("3.3.3.4")); len(absent) != 0 || len(v.said) != 0 {
		t.Errorf("absent: %v, said: %v", absent, v.said)
	}
}
