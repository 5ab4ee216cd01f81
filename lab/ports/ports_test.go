package ports

import (
	"net"
	"strconv"
	"testing"
)

func TestGivesTheWantedPortUnlessItIsTaken(t *testing.T) {
	wanted, err := Free("127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Free("127.0.0.1", wanted); err != nil || got != wanted {
		t.Errorf("got %d, %v; want %d", got, err, wanted)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	wanted = taken.Addr().(*net.TCPAddr).Port
	if got, err := Free("127.0.0.1", wanted); err != nil || got == wanted || got == 0 {
		t.Errorf("got %d, %v; want another port than %d", got, err, wanted)
	}
}

func TestNoPortIsGivenTwice(t *testing.T) {
	given := map[int]bool{}
	for range 500 {
		port, err := Free("127.0.0.1", 0)
		if err != nil {
			t.Fatal(err)
		}
		if given[port] {
			t.Fatalf("port %d was given twice, although nobody listens there yet", port)
		}
		given[port] = true
	}
}

func TestPortIsNoneThatTheKernelGivesToConnections(t *testing.T) {
	for range 20 {
		port, err := FreeDatagram("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		first, end := listeningPorts()
		if kernels := listener.Addr().(*net.TCPAddr).Port; port < first || port >= end ||
			kernels >= first && kernels < end {
			t.Errorf("port %d, and the kernel gave %d: want ports from %d to %d here, and no such there", port,
				kernels, first, end)
		}
	}
}

func TestSaysThatAHostHasNoPorts(t *testing.T) {
	if port, err := Free("192.0.2.77", 0); err == nil {
		t.Errorf("got port %d of a host that is elsewhere", port)
	}
}

func TestPortThatOneProcessHasIsNotGivenToAnother(t *testing.T) {
	const wanted = 9871
	other := claims{} // as another process has
	if !other.claim(net.JoinHostPort("127.0.0.1", strconv.Itoa(wanted))) {
		t.Fatal("a port that nobody has cannot be claimed")
	}
	t.Cleanup(func() { _ = other.held[net.JoinHostPort("127.0.0.1", strconv.Itoa(wanted))].Close() })
	if got, err := Free("127.0.0.1", wanted); err != nil || got == wanted {
		t.Errorf("got %d, %v; want another port", got, err)
	}
}
