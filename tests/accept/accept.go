// Package accept gives tests a server that speaks what they want: a listener at loopback and its accept loop.
package accept

import (
	"net"
	"testing"
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
