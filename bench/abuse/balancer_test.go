package abuse

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/bench/peers"
)

func TestPeersServeBothServicesWithinTheSameConnections(t *testing.T) {
	p := peer{Setup: peers.Setup{Dir: "/d", Host: "127.0.0.1", Cores: []int{0}, CertificateKey: "/d/ec.pem"},
		Connections: Connections, Clients: Clients,
		Services: []service{{Name: victimName, Servers: []string{"127.0.0.1:81"}, Port: 4711},
			{Name: attackedName, Servers: []string{"127.0.0.1:82", "127.0.0.1:83"}, Port: 4712, Secure: true}}}
	for file, room := range map[string]string{"nginx.conf.tmpl": "worker_connections 18464;",
		"haproxy.cfg.tmpl": "maxconn 9232 "} {
		configuration, err := p.render(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{room, "127.0.0.1:4711", "127.0.0.1:4712", "127.0.0.1:81",
			"127.0.0.1:82", "127.0.0.1:83"} {
			if !bytes.Contains(configuration, []byte(want)) {
				t.Errorf("%s: %q is missing", file, want)
			}
		}
		if certificates := bytes.Count(configuration, []byte("/d/ec.pem")); certificates == 0 || certificates > 2 {
			t.Errorf("%s: the certificate is there %d times, for one service in TLS", file, certificates)
		}
	}
}

func TestAHelloIsTheBeginOfAHandshake(t *testing.T) {
	said := hello(careless)
	const handshake, clientHello = 22, 1
	if len(said) < helloBytes || said[0] != handshake || said[5] != clientHello {
		t.Errorf("%x", said)
	}
	if length := int(said[3])<<8 + int(said[4]); length != len(said)-5 {
		t.Errorf("it says that %d bytes follow, and %d do", length, len(said)-5)
	}
}

func TestABurstAsksAndIsGone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const count = 10 // more than there are bursters, and no multiple of them
	heard := make(chan string, count)
	go func() {
		for range count {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(conn)
			conn.Close()
			heard <- string(text)
		}
	}()
	burst := beginBurst(t.Context(), count, approach{from: attackerAddress, to: addressOf(listener)}, get("/"))
	arrive(t, burst)
	if toll := burst.End(); toll.Came != count || toll.Refused != 0 || toll.Took <= 0 {
		t.Errorf("%+v", toll)
	}
	for range count {
		select {
		case text := <-heard:
			if text != string(get("/")) {
				t.Errorf("%q", text)
			}
		case <-time.After(patienceOfTest):
			t.Fatal("not all came")
		}
	}
}

func TestABusyServerServesNoMoreThanItHasPlaces(t *testing.T) {
	address, stop, err := beginBusy(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	ask := func(text []byte) net.Conn {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := conn.Write(text); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	slow, waiting := ask(post(2)), ask(get("/"))
	answered := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(waiting, make([]byte, len("HTTP/1.1 200")))
		answered <- err
	}()
	select {
	case <-answered:
		t.Error("the second was answered while the first had the place")
	case <-time.After(3 * busyFor):
	}
	slow.Close()
	select {
	case err := <-answered:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patienceOfTest):
		t.Error("the second is never answered")
	}
}

func TestAThinkingServerLetsAllGoWhenItIsStopped(t *testing.T) {
	address, stop, err := beginThinking()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(patienceOfTest)); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(conn); len(text) > 0 || err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("%q, %v", text, err)
	}
}
