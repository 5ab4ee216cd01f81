package lab

import (
	"context"
	"io"
	"net"
	"testing"
)

// echo sends back what comes, until the end, and then says that it was the end.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_, _ = io.Copy(connection, connection)
				_, _ = connection.Write([]byte(" end"))
			}()
		}
	}()
	return listener.Addr().String()
}

func TestRelayPassesBothDirectionsAndTheirEndsOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address, err := (&Host{}).Relay(ctx, echo(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(connection); err != nil || string(said) != "hello end" {
		t.Errorf("got %q, %v", said, err)
	}
	open, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(open, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(open, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := open.Read(make([]byte, 1)); err == nil {
		t.Error("the relay has ended, and a connection is open")
	}
}

func TestRelayClosesTheConnectionsThatAreTooMany(t *testing.T) {
	address, err := (&Host{}).Relay(t.Context(), echo(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range relayedMost + 1 {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		_, _ = connection.Write([]byte("x"))
		if _, err := connection.Read(make([]byte, 1)); (err != nil) != (i == relayedMost) {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
}
