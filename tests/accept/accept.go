// Package accept gives tests a server that speaks what they want: a listener at loopback and its accept loop; or an
// address for none.
package accept

import (
	"net"
	"strconv"
	"testing"

	"github.com/weir-lb/weir/lab/ports"
)

// Each gives every connection to serve, in a goroutine of its own, and closes the connection afterwards. It returns the
// address; the listener closes with the test.
func Each(t testing.TB, serve func(*net.TCPConn)) net.Addr {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go On(listener, serve)
	return listener.Addr()
}

// On does the same at a listener that the test has made, until it is closed.
func On(listener net.Listener, serve func(*net.TCPConn)) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer connection.Close()
			serve(connection.(*net.TCPConn))
		}()
	}
}

// FreeAddress is one at loopback where nobody listens. As long as the program of the test runs, nobody but the test
// does, however often it listens there and closes again.
func FreeAddress(t testing.TB) string {
	t.Helper()
	port, err := ports.Free("127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
