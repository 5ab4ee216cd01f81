package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/ports"
)

// patience is how long a peer may take to start, or to answer, on a machine that is busy.
const patience = 2 * time.Minute

func TestPeersWaitForTheFirstBytesWhereClientsSpeakFirst(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	for _, peer := range All() {
		for layer, deferred := range map[int]bool{7: true, 4: false} {
			t.Run(fmt.Sprintf("%s on layer %d", peer.Name, layer), func(t *testing.T) {
				process, setup := startPeer(t, peer, layer, server.Listener.Addr().String())
				serves(t, setup)
				found, err := deferring(process.PID(), setup.Port)
				if err != nil || found != deferred {
					t.Errorf("TCP_DEFER_ACCEPT is set: %v, want %v: %v", found, deferred, err)
				}
			})
		}
	}
}

func startPeer(t *testing.T, peer Peer, layer int, server string) (*lab.Process, Setup) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	program := installed(ctx, t, peer)
	l, err := lab.New(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Stop() })
	port, err := ports.Free("127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	cores, err := meter.Cores()
	if err != nil {
		t.Fatal(err)
	}
	setup := Setup{Dir: t.TempDir(), Host: "127.0.0.1", Port: port, Servers: []string{server},
		Cores: cores[:1], Layer: layer}
	process, err := peer.Start(ctx, l, program, setup)
	if err != nil {
		t.Fatal(err)
	}
	return process, setup
}

// installed finds what is there already: a test fetches nothing.
func installed(ctx context.Context, t *testing.T, peer Peer) string {
	t.Helper()
	if _, program, err := envoyPlace(); peer.Name == "envoy" {
		if _, missing := os.Stat(program); err != nil || missing != nil {
			t.Skip("Envoy is not here: `make bench` fetches it")
		}
	}
	program, err := peer.Find(ctx, func(string) {})
	if err != nil {
		t.Skip(err)
	}
	return program.Path
}

func serves(t *testing.T, s Setup) {
	t.Helper()
	client := http.Client{Timeout: patience}
	response, err := client.Get("http://" + s.Address() + "/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("it answers %s", response.Status)
	}
}

// deferring tells whether the group's socket that listens on the port has TCP_DEFER_ACCEPT.
func deferring(pid, port int) (bool, error) {
	for _, member := range meter.Group(pid) {
		fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", member))
		if err != nil {
			return false, err
		}
		process, err := unix.PidfdOpen(member, 0)
		if err != nil {
			return false, err
		}
		defer unix.Close(process)
		for _, name := range fds {
			number, err := strconv.Atoi(filepath.Base(name))
			if err != nil {
				return false, err
			}
			if seconds, err := deferSeconds(process, number, port); err == nil {
				return seconds > 0, nil
			}
		}
	}
	return false, errors.New("no socket listens on the port")
}

var errOther = errors.New("it does not listen there")

func deferSeconds(process, number, port int) (int, error) {
	socket, err := unix.PidfdGetfd(process, number, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(socket)
	listens, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil || listens == 0 {
		return 0, errors.Join(err, errOther)
	}
	address, err := unix.Getsockname(socket)
	if in, is := address.(*unix.SockaddrInet4); err != nil || !is || in.Port != port ||
		!net.IP(in.Addr[:]).IsLoopback() {
		return 0, errors.Join(err, errOther)
	}
	return unix.GetsockoptInt(socket, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT)
}
