package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/tests/accept"
)

// silentServer lets nobody in: its backlog is full, so that the kernel drops SYNs, until something is accepted.
type silentServer struct {
	net.Listener
	waiting []net.Conn
}

func silent(t *testing.T) *silentServer {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(socket), "silent server")
	defer file.Close()
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(socket, 1); err != nil {
		t.Fatal(err)
	}
	listener, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &silentServer{Listener: listener}
	t.Cleanup(s.end)
	for !s.isFull(t) {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		s.waiting = append(s.waiting, conn)
	}
	return s
}

// isFull tells whether the kernel drops further SYNs: of a listener, these two fields are the length of its backlog and
// the limit of that, which the length must exceed.
func (s *silentServer) isFull(t *testing.T) bool {
	t.Helper()
	raw, err := s.Listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var backlog *unix.TCPInfo
	controlled := raw.Control(func(fd uintptr) {
		backlog, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	})
	if err = errors.Join(controlled, err); err != nil {
		t.Fatal(err)
	}
	return backlog.Unacked > backlog.Sacked
}

// speak accepts everybody, and answers like badServer.
func (s *silentServer) speak(t *testing.T) {
	accept.On(s, func(conn *net.TCPConn) { misbehave(t, conn) })
}

func (s *silentServer) end() {
	s.Close()
	for _, conn := range s.waiting {
		conn.Close()
	}
}

func TestRequestsDoNotWaitForAServerThatSwallowsConnectsThoughNothingMonitorsIt(t *testing.T) {
	s := bareStage(t)
	swallows := silent(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "web", "servers": serverList(
		[]string{swallows.Addr().String(), badServer(t)})})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	const requests = 20
	begun := time.Now()
	var longest time.Duration
	for range requests {
		asked := time.Now()
		if got, err := rawGet(plainAddress, "/good"); err != nil || !strings.HasSuffix(got, "good") {
			t.Fatalf("%v\n%s", err, got)
		}
		longest = max(longest, time.Since(asked))
	}
	took := time.Since(begun)
	t.Logf("%d requests took %v, the longest %v", requests, took, longest)
	if connectTimeout := 5 * time.Second; took > requests/4*connectTimeout {
		t.Errorf("%d requests took %v: they waited for a server that lets nobody in", requests, took)
	}
	server := fmt.Sprintf("web: server %s is ", swallows.Addr())
	s.untilTold("SERVER_DOWN", server+"down: inline_health_monitor: ")
	contains(t, fmt.Sprint(s.runtime("pool", "web")), "num_servers_up:1", "new connections to it fail")

	go swallows.speak(t)
	s.eventually("it is tried, and found to be up", func() error {
		if got, err := rawGet(plainAddress, "/good"); err != nil || !strings.HasSuffix(got, "good") {
			t.Fatalf("%v\n%s", err, got)
		}
		if told := s.told("SERVER_UP"); len(told) == 0 {
			return fmt.Errorf("told: %q", told)
		}
		return nil
	})
}
