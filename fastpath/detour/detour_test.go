package detour

import (
	"encoding/binary"
	"errors"
	"math"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/fastpath"
	"github.com/weir-lb/weir/tests/alone"
)

// What the programs answer with (linux/pkt_cls.h).
const (
	passes   = 0xffffffff
	dropped  = 2
	redirect = 7
)

// The counters, in the order of enum count.
const (
	strays = iota
	searched
	found
	passedOn
	taken
	unowned
)

const tcpAck, tcpRst, tcpSyn, tcpFin = 0x10, 0x04, 0x02, 0x01

var (
	here4 = underlay{own: netip.MustParseAddr("10.1.0.11"), sibling: netip.MustParseAddr("10.1.0.12"),
		overhead: fastpath.TunnelOverhead4}
	here6 = underlay{own: netip.MustParseAddr("fd00:1::b"), sibling: netip.MustParseAddr("fd00:1::c"),
		overhead: fastpath.TunnelOverhead6}
	vip     = netip.MustParseAddr("3.3.3.3")
	vip6    = netip.MustParseAddr("fd03:3:3::3")
	client  = netip.MustParseAddrPort("10.3.0.11:40000")
	client6 = netip.MustParseAddrPort("[fd00:3::b]:40000")
)

// underlay is where engines reach each other.
type underlay struct {
	own, sibling netip.Addr
	overhead     int
}

// bench is an engine's programs in a network namespace of their own, which know one sibling. Needs root.
type bench struct {
	*testing.T
	KernelObjects
	underlay
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOver(t, here4)
}

func newBenchOver(t *testing.T, underlay underlay) *bench {
	t.Helper()
	alone.Stand(t)
	b := &bench{T: t, underlay: underlay}
	at, err := fastpath.AnswerNumberAt()
	b.must(err)
	err = fastpath.Load(LoadKernel, &b.KernelObjects, at)
	if refused := (*ebpf.VerifierError)(nil); errors.As(err, &refused) {
		t.Fatalf("%+v", refused)
	}
	b.must(err)
	t.Cleanup(func() { b.KernelObjects.Close() })
	b.must(b.Own.Put(uint32(0), words(b.own)))
	b.must(b.Engines.Put(words(b.sibling), uint32(1)))
	b.must(b.AliveUntil.Put(uint32(0), uint64(math.MaxUint64)))
	for _, address := range []netip.Addr{vip, vip6, loopbackVIP.Addr(), loopbackVIP6.Addr()} {
		b.share(address, 0)
	}
	return b
}

// share has the sibling serve an address, too, which knows this engine from some time on.
func (b *bench) share(address netip.Addr, settledNs uint64) {
	b.Helper()
	siblings := KernelSiblings{Count: 1, SettledNs: settledNs}
	siblings.Engine[0] = words(b.sibling)
	b.must(b.Vips.Put(words(address), siblings))
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// comes lets a packet in. It returns the verdict, and the packet as it is after that.
func (b *bench) comes(packet []byte) (verdict uint32, after []byte) {
	b.Helper()
	run := &ebpf.RunOptions{Data: packet, DataOut: make([]byte, len(packet)+200), Repeat: 1}
	verdict, err := b.Uplink.Run(run)
	b.must(err)
	return verdict, run.DataOut
}

func (b *bench) expect(packet []byte, verdict uint32) (after []byte) {
	b.Helper()
	got, after := b.comes(packet)
	if got != verdict {
		b.Errorf("verdict %d, want %d", int32(got), int32(verdict))
	}
	return after
}

func (b *bench) counted(which uint32) (sum uint64) {
	b.Helper()
	var cores []uint64
	b.must(b.Counters.Lookup(which, &cores))
	for _, count := range cores {
		sum += count
	}
	return sum
}

func (b *bench) expectCounts(want map[uint32]uint64) {
	b.Helper()
	for which, count := range want {
		if got := b.counted(which); got != count {
			b.Errorf("counter %d is %d, want %d", which, got, count)
		}
	}
}

// now is the time by the clock that the programs go by.
func (b *bench) now() (ns uint64) {
	b.Helper()
	var now unix.Timespec
	b.must(unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	return uint64(now.Nano())
}

func words(address netip.Addr) (in KernelAddress) {
	bytes := address.As16()
	for i := range in.Word {
		in.Word[i] = binary.NativeEndian.Uint32(bytes[4*i:])
	}
	return in
}

// ---- Packets

func ethernet(protocol uint16, payload []byte) []byte {
	header := []byte{0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2} // to loopback's own address
	return slices.Concat(binary.BigEndian.AppendUint16(header, protocol), payload)
}

func ipPacket(protocol uint8, from, to netip.Addr, payload []byte) []byte {
	if from.Is6() {
		header := []byte{0x60, 0, 0, 0, 0, 0, protocol, 64}
		binary.BigEndian.PutUint16(header[4:], uint16(len(payload)))
		return slices.Concat(header, from.AsSlice(), to.AsSlice(), payload)
	}
	header := []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0}
	binary.BigEndian.PutUint16(header[2:], uint16(20+len(payload)))
	return slices.Concat(header, from.AsSlice(), to.AsSlice(), payload)
}

func segment(from, to netip.AddrPort, flags byte) []byte {
	tcp := make([]byte, 20, 30)
	binary.BigEndian.PutUint16(tcp, from.Port())
	binary.BigEndian.PutUint16(tcp[2:], to.Port())
	tcp[12], tcp[13] = 5<<4, flags
	return ipPacket(unix.IPPROTO_TCP, from.Addr(), to.Addr(), append(tcp, "0123456789"...))
}

func etherType(packet []byte) uint16 {
	if packet[0]>>4 == 6 {
		return unix.ETH_P_IPV6
	}
	return unix.ETH_P_IP
}

func fromClient(flags byte) []byte {
	return ethernet(unix.ETH_P_IP, segment(client, netip.AddrPortFrom(vip, 443), flags))
}

func fromClient6(flags byte) []byte {
	return ethernet(unix.ETH_P_IPV6, segment(client6, netip.AddrPortFrom(vip6, 443), flags))
}

const (
	carry = iota
	ask
	owns
	hear
)

func (u *underlay) from(engine netip.Addr, kind byte, inner []byte) []byte {
	udp := []byte{0xc0, 0, 6090 >> 8, 6090 & 0xff, 0, 0, 0, 0}
	binary.BigEndian.PutUint16(udp[4:], uint16(12+len(inner)))
	packet := ipPacket(unix.IPPROTO_UDP, engine, u.own, slices.Concat(udp, []byte{1, kind, 0, 0}, inner))
	return ethernet(etherType(packet), packet)
}

func (u *underlay) fromSibling(kind byte, inner []byte) []byte { return u.from(u.sibling, kind, inner) }

// ---- The rules

func TestWhatIsNoStrayPasses(t *testing.T) {
	b := newBench(t)
	elsewhere := ethernet(unix.ETH_P_IP, segment(client, netip.MustParseAddrPort("10.1.0.11:179"), tcpAck))
	stranger := fromClient(tcpAck)
	stranger[5] = 9
	fragment := fromClient(tcpAck)
	fragment[14+6] = 0x20 // more follow
	short := fromClient(tcpAck)[:14+20+6]
	for name, packet := range map[string][]byte{
		"a first packet": fromClient(tcpSyn), "one in IPv6": fromClient6(tcpSyn), "to another address": elsewhere,
		"a fragment":                           fragment,
		"a frame for another host":             stranger,
		"a packet that ends amid TCP's header": short, "ARP": ethernet(unix.ETH_P_ARP, make([]byte, 28)),
		"UDP": ethernet(unix.ETH_P_IP, ipPacket(unix.IPPROTO_UDP, client.Addr(), vip, make([]byte, 8))),
	} {
		t.Run(name, func(t *testing.T) {
			if verdict, after := b.comes(packet); verdict != passes || string(after) != string(packet) {
				t.Errorf("verdict %d, %d bytes of %d", int32(verdict), len(after), len(packet))
			}
		})
	}
	b.expectCounts(map[uint32]uint64{strays: 0})
}

func TestStrayIsSearchedForAndThenPassedOnToTheEngineThatAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		stray []byte
		over  underlay
	}{
		"IPv4": {fromClient(tcpAck), here4}, "IPv6 over IPv4": {fromClient6(tcpAck), here4},
		"IPv6": {fromClient6(tcpAck), here6}, "IPv4 over IPv6": {fromClient(tcpAck), here6},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBenchOver(t, c.over)
			b.expect(c.stray, dropped)
			b.expectCounts(map[uint32]uint64{strays: 1, searched: 1})
			b.expect(b.fromSibling(owns, c.stray[14:]), dropped)
			b.expectCounts(map[uint32]uint64{found: 1})
			after := b.expect(c.stray, redirect)
			b.expectCounts(map[uint32]uint64{strays: 2, searched: 1, passedOn: 1})
			b.expectOuter(after[:14+b.overhead], b.sibling, carry, len(c.stray)-14)
			if string(after[14+b.overhead:]) != string(c.stray[14:]) {
				t.Error("what is in it is not what came")
			}
		})
	}
}

func TestSearchGoesToEachEngine(t *testing.T) {
	for name, over := range map[string]underlay{"over IPv4": here4, "over IPv6": here6} {
		t.Run(name, func(t *testing.T) {
			b := newBenchOver(t, over)
			var siblings KernelSiblings
			var engines []netip.Addr
			for engine := b.sibling; len(engines) < 3; engine = engine.Next() {
				engines = append(engines, engine)
				siblings.Engine[siblings.Count] = words(engine)
				siblings.Count++
			}
			b.must(b.Vips.Put(words(vip), siblings))
			stray, leaves := fromClient(tcpAck), b.listen()
			b.expect(stray, dropped)
			for _, engine := range engines {
				b.expectOuter(leaves()[:14+b.overhead], engine, ask, len(stray)-14)
			}
		})
	}
}

// listen returns what leaves by loopback, packet by packet.
func (b *bench) listen() (next func() []byte) {
	b.Helper()
	all := int(binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}))
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, all)
	b.must(err)
	b.Cleanup(func() { unix.Close(socket) })
	b.must(unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5}))
	return func() []byte {
		b.Helper()
		for {
			packet := make([]byte, 2000)
			size, from, err := unix.Recvfrom(socket, packet, 0)
			b.must(err)
			if from.(*unix.SockaddrLinklayer).Pkttype == unix.PACKET_OUTGOING {
				return packet[:size]
			}
		}
	}
}

// expectOuter looks at the headers before a packet of so many bytes for another engine.
func (b *bench) expectOuter(headers []byte, to netip.Addr, kind byte, inside int) {
	b.Helper()
	want := b.from(b.own, kind, nil)[:len(headers)]
	ip, udp := want[14:len(want)-12], want[len(want)-12:]
	copy(ip[len(ip)-len(to.AsSlice()):], to.AsSlice())
	if b.own.Is4() {
		binary.BigEndian.PutUint16(ip[2:], uint16(b.overhead+inside))
		copy(ip[10:12], headers[14+10:])
		if sum := headerSum(headers[14:34]); sum != 0xffff {
			b.Errorf("the outer header sums up to %x", sum)
		}
	} else {
		binary.BigEndian.PutUint16(ip[4:], uint16(12+inside))
	}
	binary.BigEndian.PutUint16(udp[4:], uint16(12+inside))
	copy(udp[:2], headers[len(headers)-12:]) // any port
	copy(want[:12], headers)
	if string(headers) != string(want) {
		b.Errorf("outer headers % x, want % x", headers, want)
	}
}

func headerSum(header []byte) uint32 {
	sum := uint32(0)
	for i := 0; i < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	return sum>>16 + sum&0xffff
}

func TestFlowThatNobodyOwnsIsLeftToTheKernelAfterThreeSearches(t *testing.T) {
	b := newBench(t)
	stray := fromClient(tcpAck)
	b.searchInVain(stray, 3)
	b.expect(stray, passes)
	b.expectCounts(map[uint32]uint64{searched: 3, unowned: 1})
	b.expect(fromClient(tcpSyn), passes)
	b.expect(stray, dropped) // a flow that began anew is searched for anew
}

func TestFlowIsSearchedForUntilTheOtherEnginesKnowWhoAsks(t *testing.T) {
	b := newBench(t)
	stray := fromClient(tcpAck)
	b.share(vip, math.MaxUint64)
	b.searchInVain(stray, 5)
	b.share(vip, b.now()) // after the last search
	b.expect(stray, dropped)
	b.age(unanswered)
	b.share(vip, 0)
	b.expect(stray, passes)
	b.expectCounts(map[uint32]uint64{searched: 6, unowned: 1})
}

func TestWhatWasFoundOutIsForgotten(t *testing.T) {
	b := newBench(t)
	stray := fromClient(tcpAck)
	b.searchInVain(stray, 3)
	b.expect(stray, passes)
	b.age(forgotten)
	b.expect(stray, dropped) // it may be another flow by now, which somebody owns
	b.expect(b.fromSibling(owns, stray[14:]), dropped)
	b.age(forgotten)
	b.expect(stray, dropped)
	b.expectCounts(map[uint32]uint64{searched: 5, passedOn: 0})
}

// searchInVain has a stray searched for, and nobody answer.
func (b *bench) searchInVain(stray []byte, times int) {
	b.Helper()
	for range times {
		b.expect(stray, dropped)
		b.age(unanswered)
	}
}

// age lets time go by for what is known of flows.
func (b *bench) age(span time.Duration) {
	b.Helper()
	var flow KernelFlow
	var last KernelWhereabouts
	all := b.Flows.Iterate()
	for all.Next(&flow, &last) {
		last.AskedNs -= min(last.AskedNs, uint64(span))
		last.HeardNs -= min(last.HeardNs, uint64(span))
		b.must(b.Flows.Put(flow, last))
	}
	b.must(all.Err())
}

const (
	answered   = 100 * time.Millisecond
	unanswered = 200 * time.Millisecond
	stale      = 2 * time.Second
	forgotten  = 11 * time.Second
)

func TestEngineThatOwnsAFlowHasToSaySoAgain(t *testing.T) {
	b := newBench(t)
	stray := fromClient(tcpAck)
	b.expect(stray, dropped)
	for range 3 {
		b.expect(b.fromSibling(owns, stray[14:]), dropped)
		if after := b.expect(stray, redirect); after[14+29] != carry {
			t.Errorf("kind %d, want one that is carried", after[14+29])
		}
		b.age(stale)
		if after := b.expect(stray, redirect); after[14+29] != ask {
			t.Errorf("kind %d, want one that asks", after[14+29])
		}
	}
	b.expectCounts(map[uint32]uint64{searched: 1, passedOn: 6})
	for range 2 { // it says nothing: another may own it, or nobody
		b.age(unanswered)
		b.expect(stray, dropped)
	}
	b.age(unanswered)
	b.expect(stray, passes)
	b.expectCounts(map[uint32]uint64{searched: 3, passedOn: 6, unowned: 1})
}

func TestErrorsOfTheNetworkGoToAllEngines(t *testing.T) {
	for name, c := range map[string]struct {
		about []byte
		over  underlay
	}{
		"IPv4":           {icmp(unix.IPPROTO_ICMP, 3, client.Addr(), vip), here4},
		"IPv6":           {icmp(unix.IPPROTO_ICMPV6, 2, client6.Addr(), vip6), here4},
		"IPv6 over IPv6": {icmp(unix.IPPROTO_ICMPV6, 2, client6.Addr(), vip6), here6},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBenchOver(t, c.over)
			if after := b.expect(ethernet(etherType(c.about), c.about), passes); string(after[14:]) != string(c.about) {
				t.Errorf("it came as % x and went on as % x", c.about, after[14:])
			}
			b.expectCounts(map[uint32]uint64{searched: 1, strays: 0})
			if after := b.expect(b.fromSibling(hear, c.about), passes); string(after[14:]) != string(c.about) {
				t.Errorf("another engine's is % x", after[14:])
			}
			b.expect(b.fromSibling(carry, c.about), dropped)
		})
	}
	b := newBench(t)
	echo := icmp(unix.IPPROTO_ICMP, 8, client.Addr(), vip)
	b.expect(ethernet(unix.ETH_P_IP, echo), passes)
	b.expect(b.fromSibling(hear, echo), dropped)
	b.expectCounts(map[uint32]uint64{searched: 0})
}

func icmp(protocol, kind uint8, from, to netip.Addr) []byte {
	return ipPacket(protocol, from, to, append([]byte{kind, 4, 0, 0, 0, 0, 5, 0}, make([]byte, 28)...))
}

func TestFewPacketsOfAFlowGoAlongInOneSearch(t *testing.T) {
	b := newBench(t)
	begun := time.Now()
	for range 40 {
		b.expect(fromClient(tcpAck), dropped)
	}
	searches := 1 + uint64(time.Since(begun)/answered) // one, unless this thread had to wait in between
	if copies := b.counted(searched); copies < 16 || copies > 16*searches {
		t.Errorf("%d copies in %d searches", copies, searches)
	}
}

func TestFloodOfStraysIsNotMultiplied(t *testing.T) {
	b := newBench(t)
	cores, err := ebpf.PossibleCPU()
	b.must(err)
	spent := make([]KernelBudget, cores)
	for i := range spent {
		spent[i] = KernelBudget{SinceNs: b.now(), Bytes: 64<<20 - 100}
	}
	b.must(b.Budgets.Put(uint32(0), spent))
	for port := range uint16(10) {
		from := netip.AddrPortFrom(client.Addr(), 50_000+port)
		b.expect(ethernet(unix.ETH_P_IP, segment(from, netip.AddrPortFrom(vip, 443), tcpAck)), dropped)
	}
	if sent := b.counted(searched); sent == 0 || sent > uint64(cores) {
		t.Errorf("%d copies were sent, and there was enough for %d", sent, cores)
	}
}

func TestFlowOfAnEngineThatIsGoneIsSearchedForAgain(t *testing.T) {
	b := newBench(t)
	stray := fromClient(tcpAck)
	b.expect(stray, dropped)
	b.expect(b.fromSibling(owns, stray[14:]), dropped)
	b.must(b.Engines.Delete(words(b.sibling)))
	b.expect(stray, dropped)
	b.expectCounts(map[uint32]uint64{searched: 2, passedOn: 0})
}

func TestNobodyButEnginesIsListenedTo(t *testing.T) {
	b := newBench(t)
	stray, stranger := fromClient(tcpAck), netip.MustParseAddr("10.1.0.99")
	b.expect(stray, dropped)
	for _, kind := range []byte{carry, ask, owns} {
		b.expect(b.from(stranger, kind, stray[14:]), passes) // the kernel says that nobody listens at that port
	}
	// was not asked
	b.expect(b.fromSibling(owns, segment(client, netip.MustParseAddrPort("3.3.3.3:444"), tcpAck)), dropped)
	other := b.fromSibling(owns, stray[14:])
	other[14+28] = 9 // of another version
	b.expect(other, dropped)
	b.expectCounts(map[uint32]uint64{found: 0})
}

func TestEngineTakesWhatItHoldsAndIsSilentAboutTheRest(t *testing.T) {
	for name, over := range map[string]underlay{"over IPv4": here4, "over IPv6": here6} {
		t.Run(name, func(t *testing.T) { newBenchOver(t, over).expectTakesWhatItHolds() })
	}
}

func (b *bench) expectTakesWhatItHolds() {
	b.Helper()
	from := b.connect()
	held := segment(from, loopbackVIP, tcpAck)
	for i, kind := range []byte{ask, carry} {
		if after := b.expect(b.fromSibling(kind, held), passes); string(after[14:]) != string(held) {
			b.Errorf("kind %d: % x", kind, after)
		}
		b.expectCounts(map[uint32]uint64{taken: uint64(i + 1)})
	}
	lost := segment(client, loopbackVIP, tcpAck)
	b.expect(b.fromSibling(ask, lost), dropped)
	b.expect(b.fromSibling(carry, lost), passes) // it was held a moment ago: the kernel resets it
	if verdict, _ := b.comes(ethernet(unix.ETH_P_IP, held)); verdict != passes {
		b.Errorf("verdict %d for a packet of a connection that is here", int32(verdict))
	}
}

func TestEngineThatHangsTakesNothing(t *testing.T) {
	b := newBench(t)
	held := segment(b.connect(), loopbackVIP, tcpAck)
	b.must(b.AliveUntil.Put(uint32(0), uint64(1)))
	for _, kind := range []byte{ask, carry} {
		b.expect(b.fromSibling(kind, held), dropped)
	}
	b.expectCounts(map[uint32]uint64{taken: 0})
}

func TestConnectionThatHasEndedIsNotClaimed(t *testing.T) {
	b := newBench(t)
	listener, connection := b.dial()
	accepted, err := listener.Accept()
	b.must(err)
	from := netip.MustParseAddrPort(connection.LocalAddr().String())
	accepted.Close() // first, and so it is in TIME_WAIT
	if _, err := connection.Read(make([]byte, 1)); err == nil {
		t.Fatal("not closed")
	}
	connection.Close()
	ended := segment(from, loopbackVIP, tcpAck)
	b.expect(b.fromSibling(ask, ended), dropped) // another engine may have the next of these addresses
	b.expect(ethernet(unix.ETH_P_IP, ended), passes)
	next := netip.MustParseAddrPort(b.open(loopbackVIP).LocalAddr().String())
	another, leaves := segment(next, loopbackVIP, tcpAck), b.listen()
	b.expect(b.fromSibling(ask, segment(from, loopbackVIP, tcpAck|tcpFin)), passes) // the client's end
	b.expect(b.fromSibling(ask, another), passes)
	if first := leaves(); string(first[14+b.overhead:]) != string(another) {
		t.Errorf("claimed % x", first)
	}
}

func TestHandshakeThatAnotherEngineWonIsNotOurs(t *testing.T) {
	for name, c := range map[string]struct {
		at  netip.AddrPort
		tcp int // where its header is
	}{"IPv4": {loopbackVIP, 14 + 20}, "IPv6": {loopbackVIP6, 14 + 40}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.serve(c.at, 60)
			leaves := b.listen()
			b.open(c.at)
			last := leaves()
			for last[c.tcp+13] != tcpAck {
				last = leaves()
			}
			b.expect(last, passes)
			b.expect(b.fromSibling(ask, last[14:]), passes)
			last[c.tcp+8] ^= 1 // it answers to somebody else
			b.expect(last, dropped)
			b.expect(b.fromSibling(ask, last[14:]), dropped)
			last[c.tcp+13] = tcpRst // which says nothing of whom it answers to
			b.expect(last, passes)
			b.expectCounts(map[uint32]uint64{strays: 1, searched: 1, taken: 1})
		})
	}
}

var (
	loopbackVIP  = netip.MustParseAddrPort("127.0.0.3:443")
	loopbackVIP6 = netip.MustParseAddrPort("[::1]:443")
)

// connect opens a connection to a VIP at loopback, for as long as the test.
func (b *bench) connect() (from netip.AddrPort) {
	b.Helper()
	_, connection := b.dial()
	return netip.MustParseAddrPort(connection.LocalAddr().String())
}

func (b *bench) dial() (net.Listener, net.Conn) {
	b.Helper()
	return b.serve(loopbackVIP, 0), b.open(loopbackVIP)
}

// serve listens at a VIP; a connection exists when its client has said something, if that is deferred for some seconds.
func (b *bench) serve(at netip.AddrPort, deferredS int) net.Listener {
	b.Helper()
	config := net.ListenConfig{Control: func(_, _ string, socket syscall.RawConn) (failed error) {
		return errors.Join(socket.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, deferredS)
		}), failed)
	}}
	config.SetMultipathTCP(false)
	listener, err := config.Listen(b.Context(), "tcp", at.String())
	b.must(err)
	b.Cleanup(func() { listener.Close() })
	return listener
}

func (b *bench) open(at netip.AddrPort) net.Conn {
	b.Helper()
	connection, err := net.Dial("tcp", at.String())
	b.must(err)
	b.Cleanup(func() { connection.Close() })
	return connection
}
