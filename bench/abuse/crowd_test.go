package abuse

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"
)

// patienceOfTest is how long anything here may take on a machine that is busy.
const patienceOfTest = time.Minute

func arrive(t *testing.T, a attack) {
	t.Helper()
	select {
	case <-a.Arrived():
	case <-time.After(patienceOfTest):
		t.Fatal("they do not come")
	}
}

func addressOf(l net.Listener) netip.AddrPort { return netip.MustParseAddrPort(l.Addr().String()) }

func TestACrowdStaysInPlainAndInTLS(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello") })
	for name, server := range map[string]*httptest.Server{"plain": httptest.NewServer(answer),
		"TLS": httptest.NewTLSServer(answer)} {
		a := approach{from: attackerAddress, to: addressOf(server.Listener)}
		if name == "TLS" {
			a.secure = careless
		}
		crowd := gather(t.Context(), 20, 1000, a, manners{opening: get("/"), reads: 1000,
			period: 50 * time.Millisecond})
		arrive(t, crowd)
		if toll := crowd.End(); toll.Came != 20 || toll.Most != 20 || toll.Refused != 0 || toll.Gone != 0 {
			t.Errorf("%s: %+v", name, toll)
		}
		server.Close()
	}
}

func TestWhoIsSentAwayComesAgain(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const times = 3
	crowd := gather(t.Context(), 1, 1000, approach{from: attackerAddress, to: addressOf(listener)},
		manners{opening: []byte("G"), drip: 'x', period: 20 * time.Millisecond})
	for range times {
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if from := netip.MustParseAddrPort(conn.RemoteAddr().String()).Addr(); from != attackerAddress.Addr() {
			t.Errorf("it comes from %v", from)
		}
		conn.Close()
	}
	// The last one that was accepted may be under way still.
	if toll := crowd.End(); toll.Came < times-1 || toll.Gone < times-1 || toll.Most != 1 {
		t.Errorf("%+v", toll)
	}
}
