package network

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// slowDevice is the name of the interface at each end of a slow link.
const slowDevice = "slow0"

// slowWaiting is how many packets wait at once on one way of one round trip; one more is dropped.
const slowWaiting = 4096

// SlowLink is a link between two namespaces that holds each packet for half of a round trip, the ones of handshakes and
// those without data, too. This process passes the packets on, so that it takes no queueing discipline of the kernel.
type SlowLink struct {
	ends   [2]int                 // descriptors
	ways   map[netip.Addr]*[2]way // by the address at the far end
	tasks  sync.WaitGroup
	closed atomic.Bool
}

// way is one direction.
type way struct {
	hold    time.Duration
	waiting chan packet

	mu    sync.Mutex
	held  time.Duration // by all packets together
	count int
}

type packet struct {
	content []byte
	came    time.Time
}

// Slow makes the link: near has one address, and far has one for each round trip. The addresses are IPv4, of one
// network.
func Slow(near, far *Namespace, nearAddress netip.Prefix, roundTrips map[netip.Addr]time.Duration) (*SlowLink, error) {
	l := &SlowLink{ways: map[netip.Addr]*[2]way{}}
	var farAddresses []netip.Prefix
	for address, span := range roundTrips {
		farAddresses = append(farAddresses, netip.PrefixFrom(address, nearAddress.Bits()))
		both := new([2]way)
		for i := range both {
			both[i].hold, both[i].waiting = span/2, make(chan packet, slowWaiting)
		}
		l.ways[address] = both
	}
	for i, end := range []struct {
		space     *Namespace
		addresses []netip.Prefix
	}{{near, []netip.Prefix{nearAddress}}, {far, farAddresses}} {
		descriptor, err := end.space.addTunnel(slowDevice, end.addresses)
		if err != nil {
			if i > 0 {
				_ = unix.Close(l.ends[0])
			}
			return nil, fmt.Errorf("%s in %s: %w", slowDevice, end.space.Node, err)
		}
		l.ends[i] = descriptor
	}
	for from := range l.ends {
		l.tasks.Go(func() { l.take(from) })
		for _, both := range l.ways {
			l.tasks.Go(func() { both[from].pass(l.ends[1-from]) })
		}
	}
	return l, nil
}

// addTunnel makes an interface whose packets this process reads and writes.
func (s *Namespace) addTunnel(name string, addresses []netip.Prefix) (descriptor int, err error) {
	descriptor = -1
	err = s.Run(func() (err error) {
		if descriptor, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("/dev/net/tun: %w", err)
		}
		request, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		return unix.IoctlIfreq(descriptor, unix.TUNSETIFF, request)
	})
	if err == nil {
		err = s.address(name, addresses)
	}
	if err != nil {
		_ = unix.Close(descriptor)
	}
	return descriptor, err
}

// address gives an interface its addresses, and sets it up.
func (s *Namespace) address(name string, addresses []netip.Prefix) error {
	k, err := open(s)
	if err != nil {
		return err
	}
	defer k.close()
	if err := k.addAddresses(name, addresses); err != nil {
		return err
	}
	return k.bringUp(name)
}

// take reads what comes in at one end until the link is closed.
func (l *SlowLink) take(from int) {
	const addressFrom, addressTo, headBytes = 12, 16, 20 // RFC 791 §3.1
	defer func() {
		for _, both := range l.ways {
			close(both[from].waiting)
		}
	}()
	defer goFirst()()
	for buffer := make([]byte, 1<<16); ; {
		length, err := l.read(from, buffer)
		if err != nil {
			return
		}
		came := time.Now()
		if length < headBytes || buffer[0]>>4 != 4 {
			continue
		}
		at := addressTo // the far end's is that of the receiver
		if from == 1 {
			at = addressFrom
		}
		both, known := l.ways[netip.AddrFrom4([4]byte(buffer[at:]))]
		if !known {
			continue
		}
		select {
		case both[from].waiting <- packet{append([]byte(nil), buffer[:length]...), came}:
		default:
		}
	}
}

// read waits for a packet. It does so on its thread: the runtime would wake it on another one, which is not so quick.
func (l *SlowLink) read(from int, buffer []byte) (int, error) {
	const lookAgainMs = 100 // whether the link is closed
	for !l.closed.Load() {
		length, err := unix.Read(l.ends[from], buffer)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return length, err
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(l.ends[from]), Events: unix.POLLIN}}, lookAgainMs)
	}
	return 0, os.ErrClosed
}

// pass writes each packet when its time has come.
func (w *way) pass(to int) {
	defer goFirst()()
	for p := range w.waiting {
		if left := w.hold - time.Since(p.came); left > 0 {
			// The timers of Go may be a millisecond late.
			span := unix.NsecToTimespec(left.Nanoseconds())
			_ = unix.Nanosleep(&span, nil)
		}
		if _, err := unix.Write(to, p.content); err != nil {
			continue // the other end has no room, and drops it
		}
		w.mu.Lock()
		w.held, w.count = w.held+time.Since(p.came), w.count+1
		w.mu.Unlock()
	}
}

// mean is for how long a packet was held; 0: there were none.
func (w *way) mean() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held / time.Duration(max(w.count, 1))
}

// goFirst has the kernel run this goroutine before all else, if it lets it: what passes packets on is part of the link,
// and no work that others wait for. It returns what ends that.
func goFirst() (end func()) {
	runtime.LockOSThread()
	as := func(policy, priority uint32) {
		_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}, 0)
	}
	as(unix.SCHED_FIFO, 1)
	return func() {
		as(unix.SCHED_NORMAL, 0)
		runtime.UnlockOSThread()
	}
}

// RoundTrip is how long packets to and from a far address were really held on average; 0: there were none.
func (l *SlowLink) RoundTrip(far netip.Addr) time.Duration {
	both := l.ways[far]
	if both == nil {
		return 0
	}
	return both[0].mean() + both[1].mean()
}

// Close takes the link away. Packets that are still held are lost.
func (l *SlowLink) Close() error {
	l.closed.Store(true)
	l.tasks.Wait()
	return errors.Join(unix.Close(l.ends[0]), unix.Close(l.ends[1]))
}
