package network

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// anycast has both engines serve one address, over which the router spreads connections.
func anycast(t *testing.T, n *Network, serve func(engine string, connection net.Conn)) {
	t.Helper()
	vip := netip.MustParsePrefix("3.3.3.3/32")
	k, err := open(n.must(t, "router"))
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	err = k.RouteAdd(&netlink.Route{Dst: ipNet(vip), MultiPath: []*netlink.NexthopInfo{
		{Gw: net.IPv4(10, 1, 0, 11)}, {Gw: net.IPv4(10, 1, 0, 12)}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"engine-1", "engine-2"} {
		at, err := open(n.must(t, engine))
		if err != nil {
			t.Fatal(err)
		}
		defer at.close()
		if err := at.addAddresses("lo", []netip.Prefix{vip}); err != nil { // as an agent does
			t.Fatal(err)
		}
		listener := listen(t, n.must(t, engine), "3.3.3.3:80")
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				serve(engine, connection)
			}
		}()
	}
}

func TestSpreadsTheConnectionsOfOneClientOverAllEngines(t *testing.T) {
	n, _ := build(t, "spread")
	took := make(chan string)
	anycast(t, n, func(engine string, connection net.Conn) {
		_ = connection.Close()
		took <- engine
	})
	const connections = 400
	counts := map[string]int{}
	for range connections {
		if _, err := reach(t, patience, n.must(t, "client-1"), "3.3.3.3:80"); err != nil {
			t.Fatal(err)
		}
		counts[<-took]++
	}
	// 400 fair coins: fewer than 140 of either side comes once in 10^9 runs.
	if counts["engine-1"] < 140 || counts["engine-2"] < 140 {
		t.Errorf("of %d connections %v", connections, counts)
	}
}

func TestAConnectionStaysWithItsEngineWhenItsClientSendsAgain(t *testing.T) {
	n, _ := build(t, "resend")
	anycast(t, n, func(_ string, connection net.Conn) {
		go func() {
			defer connection.Close()
			_, _ = io.Copy(connection, connection)
		}()
	})
	var connections []*net.TCPConn
	for range 10 { // if they went anywhere, all would stay but once in 10^3 runs
		connection, err := n.must(t, "client-1").Dial(t.Context(), "tcp", "3.3.3.3:80")
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		connections = append(connections, connection.(*net.TCPConn))
	}
	router := n.must(t, "router")
	if err := router.Cut("client-1"); err != nil {
		t.Fatal(err)
	}
	for _, connection := range connections {
		if _, err := io.WriteString(connection, "?"); err != nil {
			t.Fatal(err)
		}
	}
	for _, connection := range connections {
		untilSentAgain(t, connection)
	}
	if err := router.Connect("client-1"); err != nil {
		t.Fatal(err)
	}
	for _, connection := range connections {
		if _, err := io.ReadFull(connection, make([]byte, 1)); err != nil {
			t.Error(err)
		}
	}
}

// untilSentAgain waits until the kernel has repeated something that the other end did not acknowledge.
func untilSentAgain(t *testing.T, connection *net.TCPConn) {
	t.Helper()
	raw, err := connection.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	deadline, poll := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer poll.Stop()
	for {
		var info *unix.TCPInfo
		control := raw.Control(func(descriptor uintptr) {
			info, err = unix.GetsockoptTCPInfo(int(descriptor), unix.SOL_TCP, unix.TCP_INFO)
		})
		if control != nil || err != nil {
			t.Fatal(control, err)
		}
		if info.Total_retrans > 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("nothing was sent again within %v", patience)
		case <-poll.C:
		}
	}
}
