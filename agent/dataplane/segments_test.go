package dataplane

import (
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// limit is how long segments may be, to any address.
type limit struct {
	segment atomic.Int64
	changed atomic.Bool
}

func (l *limit) MaxSegment(netip.Addr) int { return int(l.segment.Load()) }

func (l *limit) ChangedSegments() (bool, map[netip.Addr]bool) {
	if !l.changed.Swap(false) {
		return false, nil
	}
	return false, map[netip.Addr]bool{netip.MustParseAddr("127.0.0.1"): true}
}

func (l *limit) set(segment int64) {
	l.segment.Store(segment)
	l.changed.Store(true)
}

// segmentTo is how long segments to this port may be.
func segmentTo(t *testing.T, port uint32) (bytes int) {
	t.Helper()
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	raw, err := connection.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(descriptor uintptr) {
		bytes, err = unix.GetsockoptInt(int(descriptor), unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func TestSegmentsGetTheirLimitWhenItChangesAlsoAtSocketsThatServeAlready(t *testing.T) {
	r := newRig(t)
	first, second := freePort(t), freePort(t)
	far := r.serve(planAt(1, first))
	r.segments.set(1000)
	r.supervisor.Apply(planAt(2, first, second))
	r.expectFrames(far, "2 sockets", "change 1 to 2: 1 services, 0 pools, 0 gone")
	for _, port := range []uint32{first, second} {
		if got := segmentTo(t, port); got > 1000 || got < 900 {
			t.Errorf("segments of %d to %d", got, port)
		}
	}
	r.answer(far, nackOf(2, "no such cipher"))
	r.expect("refused 2")
	r.segments.set(600)
	sample := &dataplanev1.FromDataplane{
		Frame: &dataplanev1.FromDataplane_Sample{Sample: &dataplanev1.Sample{UnixMs: 5}},
	}
	r.answer(far, sample)
	r.answer(far, sample)
	r.expect("sample 5", "sample 5")
	if got := segmentTo(t, first); got > 600 {
		t.Errorf("segments of %d after a Plan was refused", got)
	}
}
