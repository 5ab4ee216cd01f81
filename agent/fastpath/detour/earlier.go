package detour

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/fastpath/detour"
)

// lookForEarlier reads, once, what the programs of an earlier agent know. While it is not known what serves, it may be
// that a newer Plan does than the one on disk: without the other engines that it names, the clients that a router moves
// would get a reset.
func (s *Set) lookForEarlier() {
	if s.looked {
		return
	}
	s.looked = true
	if s.earlier, s.unread = s.readEarlier(); errors.Is(s.unread, unix.EPERM) {
		s.unread = fmt.Errorf("%w; the agent needs CAP_SYS_ADMIN for it", s.unread)
	}
}

func (s *Set) readEarlier() (siblings, error) {
	vips, err := s.uplinks.EarlierMap(detour.KernelMapVips)
	if vips == nil || err != nil {
		return nil, err
	}
	defer vips.Close()
	var vip detour.KernelAddress
	var known detour.KernelSiblings
	earlier := siblings{}
	all := vips.Iterate()
	for all.Next(&vip, &known) {
		for _, engine := range known.Engine[:min(int(known.Count), len(known.Engine))] {
			earlier[unpacked(vip)] = append(earlier[unpacked(vip)], unpacked(engine))
		}
	}
	if err := all.Err(); err != nil {
		return nil, fmt.Errorf("map %s: %w", detour.KernelMapVips, err)
	}
	return earlier, nil
}

// unpacked is the reverse of packed.
func unpacked(from detour.KernelAddress) netip.Addr {
	var bytes [16]byte
	for i, word := range from.Word {
		binary.NativeEndian.PutUint32(bytes[4*i:], word)
	}
	return netip.AddrFrom16(bytes).Unmap()
}
