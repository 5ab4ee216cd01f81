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

// feed tells the programs what is wanted, and then puts them where clients come in: those that an agent before this one
// has left there know what to do until then.
func (s *Set) feed() error {
	if err := s.load(); err != nil {
		return err
	}
	own := s.wanted.own()
	if !own.IsValid() {
		return nil // it has lost its address: what was there may come back
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

// feedEngines says which engines there are. One that cannot be reached now is none.
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

// feedVIPs says who the other engines of each address are. It returns what the programs know then; what failed is tried
// again with the next sign of life.
func (s *Set) feedVIPs() (fed map[netip.Addr][]netip.Addr, failed error) {
	fed = maps.Clone(s.fed.vips)
	if fed == nil {
		fed = map[netip.Addr][]netip.Addr{}
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

// feedVIP says who the other engines of an address are. One that came will not be known to all of them at once.
func (s *Set) feedVIP(vip netip.Addr, engines []netip.Addr) error {
	if vip.Is4() != s.wanted.own().Is4() && !mixesFamilies() {
		return errors.New(
			"this kernel passes on packets only of the family of the engines' own addresses; Linux 6.3 does both")
	}
	var before, siblings detour.KernelSiblings
	if err := ignoreAbsent(s.objects.Vips.Lookup(packed(vip), &before)); err != nil {
		return err
	}
	siblings.SettledNs = before.SettledNs
	for _, engine := range engines[:min(len(engines), len(siblings.Engine))] {
		siblings.Engine[siblings.Count] = packed(engine)
		siblings.Count++
	}
	if !isSubset(engines, s.fed.vips[vip]) {
		settled, err := monotonicNs(settleFor)
		if err != nil {
			return err
		}
		siblings.SettledNs = settled
	}
	return s.objects.Vips.Put(packed(vip), siblings)
}

// isSubset is for sorted addresses.
func isSubset(these, all []netip.Addr) bool {
	return !slices.ContainsFunc(these, func(one netip.Addr) bool {
		_, found := slices.BinarySearchFunc(all, one, netip.Addr.Compare)
		return !found
	})
}

// mixesFamilies tells whether this kernel can take an IPv6 packet out of an IPv4 one, and the other way round.
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

// Counts are packets that a router sent to an engine which does not hold their flow.
type Counts struct {
	Strays   uint64 // that came here
	Searched uint64 // copies that went to other engines, because it was not known which of them holds the flow
	Found    uint64 // answers to that
	PassedOn uint64 // to the engine that was known to hold the flow
	Taken    uint64 // from other engines
	Unowned  uint64 // nobody holds the flow: the client hears a reset
	Dropped  uint64 // there were too many to search for; clients send them again
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

// packed is an address as the programs have it.
func packed(address netip.Addr) (in detour.KernelAddress) {
	bytes := address.As16()
	for i := range in.Word {
		in.Word[i] = binary.NativeEndian.Uint32(bytes[4*i:])
	}
	return in
}
