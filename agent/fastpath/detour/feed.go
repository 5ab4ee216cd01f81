package detour

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/fastpath"
	"github.com/weir-lb/weir/fastpath/detour"
)

// feed writes what is wanted into the programs' maps, and then attaches the programs. Programs of an earlier agent work
// until they are replaced.
func (s *Set) feed() error {
	if err := s.load(); err != nil {
		return err
	}
	own := s.wanted.own()
	if !own.IsValid() {
		return nil // the engine has lost its address, which may come back
	}
	if err := s.objects.Own.Put(uint32(0), packed(own)); err != nil {
		return fmt.Errorf("own address: %w", err)
	}
	err := s.feedEngines()
	vips, failed := s.feedVIPs()
	s.fed, s.fed.vips = s.wanted, vips
	err = errors.Join(err, failed)
	return errors.Join(err, s.uplinks.Attach(s.wanted.addresses, s.objects.Uplink))
}

// feedEngines writes the other engines. An engine without a route to it is left out.
func (s *Set) feedEngines() error {
	var failed error
	wanted := s.wanted.engines()
	for _, engine := range wanted {
		link, err := fastpath.LinkTowards(engine)
		if err == nil {
			err = s.objects.Engines.Put(packed(engine), link)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("engine at %s: %w", engine, err))
		}
	}
	for _, engine := range s.fed.engines() {
		if _, still := slices.BinarySearchFunc(wanted, engine, netip.Addr.Compare); !still {
			failed = errors.Join(failed, ignoreAbsent(s.objects.Engines.Delete(packed(engine))))
		}
	}
	return failed
}

// feedVIPs writes the other engines of each VIP. It returns what the programs know afterwards. What failed is tried
// again at the next sign of life.
func (s *Set) feedVIPs() (fed siblings, failed error) {
	fed = maps.Clone(s.fed.vips)
	if fed == nil {
		fed = siblings{}
	}
	for vip, engines := range s.wanted.vips {
		if slices.Equal(fed[vip], engines) {
			continue
		}
		if err := s.feedVIP(vip, engines); err != nil {
			failed = errors.Join(failed, fmt.Errorf("address %s: %w", vip, err))
		} else {
			fed[vip] = engines
		}
	}
	for vip := range s.fed.vips {
		if _, still := s.wanted.vips[vip]; still {
			continue
		}
		if err := ignoreAbsent(s.objects.Vips.Delete(packed(vip))); err != nil {
			failed = errors.Join(failed, fmt.Errorf("address %s: %w", vip, err))
		} else {
			delete(fed, vip)
		}
	}
	return fed, failed
}

// feedVIP writes the other engines of a VIP. It notes when an engine was added, because other engines learn of it
// later.
func (s *Set) feedVIP(vip netip.Addr, engines []netip.Addr) error {
	if vip.Is4() != s.wanted.own().Is4() && !mixesFamilies() {
		return errors.New(
			"this kernel passes on packets only of the family of the engines' own addresses; Linux 6.3 does both")
	}
	var before, known detour.KernelSiblings
	if err := ignoreAbsent(s.objects.Vips.Lookup(packed(vip), &before)); err != nil {
		return err
	}
	known.SettledNs = before.SettledNs
	for _, engine := range engines[:min(len(engines), len(known.Engine))] {
		known.Engine[known.Count] = packed(engine)
		known.Count++
	}
	if !isSubset(engines, s.fed.vips[vip]) {
		settled, err := monotonicNs(settleFor)
		if err != nil {
			return err
		}
		known.SettledNs = settled
	}
	return s.objects.Vips.Put(packed(vip), known)
}

// isSubset is for sorted addresses.
func isSubset(these, all []netip.Addr) bool {
	return !slices.ContainsFunc(these, func(one netip.Addr) bool {
		_, found := slices.BinarySearchFunc(all, one, netip.Addr.Compare)
		return !found
	})
}

// mixesFamilies tells whether this kernel can unpack an IPv6 packet from an IPv4 one, and the reverse.
func mixesFamilies() bool {
	var system unix.Utsname
	if unix.Uname(&system) != nil {
		return false
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(system.Release[:]), "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 6 || major == 6 && minor >= 3
}

func ignoreAbsent(err error) error {
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	}
	return err
}

// Counts are packets that a router sent to an engine that does not own their flow.
type Counts struct {
	Strays   uint64 // that came here
	Searched uint64 // copies sent to other engines to find the owner of a flow
	Found    uint64 // answers to that
	PassedOn uint64 // sent to the known owner of the flow
	Taken    uint64 // from other engines
	Unowned  uint64 // nobody owns the flow, and the client gets a reset
	Dropped  uint64 // dropped because too many searches ran; clients send them again
}

// counted are the sums of all cores.
func counted(objects *detour.KernelObjects) *Counts {
	sums := new(Counts)
	for key, into := range []*uint64{ // in the order of enum count
		&sums.Strays, &sums.Searched, &sums.Found, &sums.PassedOn, &sums.Taken, &sums.Unowned, &sums.Dropped,
	} {
		var cores []uint64
		if err := objects.Counters.Lookup(uint32(key), &cores); err != nil {
			return nil // there is one for each key
		}
		for _, count := range cores {
			*into += count
		}
	}
	return sums
}

// packed is an address in the form that the programs use.
func packed(address netip.Addr) (in detour.KernelAddress) {
	bytes := address.As16()
	for i := range in.Word {
		in.Word[i] = binary.NativeEndian.Uint32(bytes[4*i:])
	}
	return in
}
