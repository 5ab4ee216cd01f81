package dataplane

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// pair is a connection as the agent has it, and the other end as the data plane has it.
func pair(t *testing.T) (wire, *net.UnixConn) {
	t.Helper()
	descriptors, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, descriptor := range descriptors {
		file := os.NewFile(uintptr(descriptor), "pair")
		connection, err := net.FileConn(file)
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		ends[i] = connection.(*net.UnixConn)
		t.Cleanup(func() { connection.Close() })
	}
	return wire{ends[0]}, ends[1]
}

func frameBytes(t *testing.T, message proto.Message) []byte {
	t.Helper()
	content, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), content...)
}

func socketsFrame(addresses ...string) *dataplanev1.FromDataplane {
	sockets := &dataplanev1.Sockets{Last: true}
	for _, address := range addresses {
		sockets.Sockets = append(sockets.Sockets, &dataplanev1.Socket{Address: address, Port: 80})
	}
	return &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Sockets{Sockets: sockets}}
}

// openDescriptors counts those of this process.
func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestReadsFramesThatComeInAnyPieces(t *testing.T) {
	w, far := pair(t)
	hello := &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Hello{Hello: &dataplanev1.Hello{Pid: 7,
		Version: "1"}}}
	stream := append(frameBytes(t, hello), frameBytes(t, hello)...)
	go func() {
		for _, one := range stream {
			far.Write([]byte{one})
		}
		far.Close()
	}()
	for range 2 {
		if in, err := w.read(); err != nil || !proto.Equal(in.message, hello) {
			t.Fatalf("got %v, %v", in.message, err)
		}
	}
	if _, err := w.read(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestDescriptorsBelongToTheirFrame(t *testing.T) {
	w, far := pair(t)
	for _, address := range []string{"192.0.2.1", "192.0.2.2"} {
		descriptor, err := listen(slot{at: netip.MustParseAddrPort("127.0.0.1:0")})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := far.WriteMsgUnix(frameBytes(t, socketsFrame(address)), unix.UnixRights(descriptor),
			nil); err != nil {
			t.Fatal(err)
		}
		unix.Close(descriptor)
	}
	for range 2 {
		in, err := w.read()
		if err != nil || len(in.descriptors) != 1 {
			t.Fatalf("got %d descriptors, %v", len(in.descriptors), err)
		}
		if listening, err := unix.GetsockoptInt(in.descriptors[0], unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil ||
			listening != 1 {
			t.Errorf("it does not listen: %v", err)
		}
		closeAll(in.descriptors)
	}
}

func TestRefusesFramesThatBreakTheContractAndKeepsNothingOfThem(t *testing.T) {
	for name, c := range map[string]struct {
		content []byte
		rights  int
		want    string
	}{
		"longer than a frame may be":     {[]byte{0xff, 0xff, 0xff, 0xff}, 1, errFrameLength.Error()},
		"no message":                     {[]byte{0, 0, 0, 2, 0xff, 0xff}, 1, "a frame is no message"},
		"cut in the middle":              {[]byte{0, 0, 0, 9, 1}, 1, "EOF"},
		"more descriptors than it names": {frameBytes(t, socketsFrame("192.0.2.1")), 2, errDescriptors.Error()},
		"fewer descriptors than it names": {frameBytes(t, socketsFrame("192.0.2.1", "192.0.2.2")), 1,
			errDescriptors.Error()},
		"more descriptors than fit": {frameBytes(t, socketsFrame()), descriptorsMax + 1, errDescriptors.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			w, far := pair(t)
			before := openDescriptors(t)
			rights := make([]int, c.rights)
			if _, _, err := far.WriteMsgUnix(c.content, unix.UnixRights(rights...), nil); err != nil {
				t.Fatal(err)
			}
			far.Close()
			if _, err := w.read(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if after := openDescriptors(t); after != before-1 {
				t.Errorf("%d descriptors before, %d after", before-1, after)
			}
		})
	}
}

func TestSendsSocketsInFramesThatTheKernelTakes(t *testing.T) {
	w, far := pair(t)
	descriptor, err := listen(slot{at: netip.MustParseAddrPort("127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(descriptor)
	owned, wanted := sockets{}, places{}
	for worker := range uint32(2*descriptorsMax + 1) {
		place := slot{netip.MustParseAddrPort("192.0.2.1:443"), plan.ProtocolTCP, worker}
		owned[place], wanted[place] = descriptor, plan.Listener{}
	}
	l := &life{wire: w, handed: map[slot]bool{}}
	sent := make(chan error, 1)
	go func() { sent <- l.give(owned, wanted) }()
	var worker uint32
	for _, want := range []int{descriptorsMax, descriptorsMax, 1} {
		message, descriptors := receive(t, far)
		if got := message.GetSockets(); len(got.GetSockets()) != want || descriptors != want ||
			got.GetLast() != (want == 1) {
			t.Fatalf("got %d sockets, %d descriptors, last %v", len(got.GetSockets()), descriptors, got.GetLast())
		}
		for _, socket := range message.GetSockets().GetSockets() {
			if socket.GetWorker() != worker || socket.GetAddress() != "192.0.2.1" || socket.GetPort() != 443 {
				t.Fatalf("got %v, want worker %d", socket, worker)
			}
			worker++
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if err := l.give(owned, wanted); err != nil || len(l.handed) != len(owned) {
		t.Errorf("handed over %d of %d, %v", len(l.handed), len(owned), err)
	}
}

// receive reads one frame as a data plane does, and counts its descriptors.
func receive(t *testing.T, far *net.UnixConn) (*dataplanev1.ToDataplane, int) {
	t.Helper()
	header, rights := make([]byte, headerBytes), make([]byte, 4096)
	_, n, _, _, err := far.ReadMsgUnix(header, rights)
	if err != nil {
		t.Fatal(err)
	}
	var in frame
	if err := in.collect(rights[:n]); err != nil {
		t.Fatal(err)
	}
	closeAll(in.descriptors)
	content := make([]byte, binary.BigEndian.Uint32(header))
	if _, err := io.ReadFull(far, content); err != nil {
		t.Fatal(err)
	}
	message := new(dataplanev1.ToDataplane)
	if err := proto.Unmarshal(content, message); err != nil {
		t.Fatal(err)
	}
	return message, len(in.descriptors)
}

// peerOf listens as a data plane does and gives the first agent these frames.
func peerOf(t *testing.T, frames ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		for _, frame := range frames {
			connection.Write(frame)
		}
		connection.(*net.UnixConn).CloseWrite()
	}()
	return path
}

func TestGreetsADataPlaneThatRunsAndWatchesItsProcess(t *testing.T) {
	hello := &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Hello{
		Hello: &dataplanev1.Hello{Version: "1", Workers: 2, AppliedRevision: 5},
	}}
	l, held, process, err := greet(t.Context(), peerOf(t, frameBytes(t, hello), frameBytes(t, socketsFrame())), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.hangUp()
	if process.pid != os.Getpid() || process.hasEnded() || l.hello.GetWorkers() != 2 || len(held) != 0 {
		t.Errorf("got process %d, %v, %d sockets", process.pid, l.hello, len(held))
	}
	if _, open := <-l.frames; open || !errors.Is(l.reason, io.EOF) {
		t.Errorf("the connection ended with %v", l.reason)
	}
}

func TestTakesNothingForADataPlaneThatDoesNotGreetAsOne(t *testing.T) {
	ack := &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Ack{Ack: &dataplanev1.Ack{}}}
	hello := &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Hello{Hello: &dataplanev1.Hello{}}}
	for name, frames := range map[string][][]byte{
		"it hangs up":              {},
		"it does not say Hello":    {frameBytes(t, ack)},
		"it says nothing more":     {frameBytes(t, hello)},
		"it does not give back":    {frameBytes(t, hello), frameBytes(t, ack)},
		"it gives what it has not": {frameBytes(t, hello), frameBytes(t, socketsFrame("192.0.2.1"))},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, process, err := greet(t.Context(), peerOf(t, frames...), nil); err == nil || process == nil {
				t.Errorf("got process %v, error %v", process, err)
			}
		})
	}
}

func TestStopsAtOnceBesideADataPlaneThatDoesNotGreet(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.supervisor.Run(ctx) }()
	connection, err := r.listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	receive(t, connection.(*net.UnixConn))
	cancel()
	select {
	case <-ended:
	case <-time.After(helloTimeout / 2):
		t.Fatal("it waits for the data plane")
	}
	if r.supervisor.process == nil {
		t.Error("an agent that does not keep the data plane would leave it running")
	}
}
