package link

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/weir-lb/weir/api/engine/enrollment"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

func TestWhoHasNotJoinedMaySayLittle(t *testing.T) {
	rig := newRig(t)
	if _, err := rig.joinWith(strings.Repeat("x", joinBytesMax), "a"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v", err)
	}
	agent := rig.session(rig.join("a"), 0)
	rig.expect("se-a connected")
	agent.say(&enginev1.Report{Body: &enginev1.Report_Status{Status: &enginev1.Status{Reason: strings.Repeat("x", joinBytesMax)}}})
	rig.expect("se-a reported")
}

// knock connects without an engine's certificate and completes the handshake.
func (r *rig) knock() net.Conn {
	r.Helper()
	connection, err := tls.Dial("tcp", r.address, &tls.Config{
		RootCAs: r.authority.Pool(), ServerName: enrollment.ControllerName, NextProtos: []string{"h2"},
	})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { connection.Close() })
	return connection
}

func TestCrowdOfNewcomersKeepsNoEngineOut(t *testing.T) {
	rig := newRig(t)
	identity := rig.join("a")
	closed := make(chan error, 1)
	for range newcomersMax + 1 {
		connection := rig.knock()
		go func() {
			_, err := io.Copy(io.Discard, connection)
			select {
			case closed <- err:
			default:
			}
		}()
	}
	select {
	case <-closed:
	case <-time.After(patience):
		t.Error("nobody was hung up on")
	}
	rig.session(identity, 0)
	rig.expect("se-a connected")
}

// guest is the far end of a connection that newcomers admitted.
func guest(t *testing.T, n *newcomers) net.Conn {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { far.Close() })
	if err := n.admit(near, credentials.TLSInfo{}); err != nil {
		t.Fatal(err)
	}
	return far
}

func TestPlaceOfANewcomerWhoLeftIsFree(t *testing.T) {
	n := newNewcomers(nil)
	for range newcomersMax {
		guest(t, n)
	}
	if err := n.admit(nil, credentials.TLSInfo{}); err != errCrowded {
		t.Errorf("got %v", err)
	}
	first, err := n.Accept()
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	guest(t, n)
}

func TestNewcomerThatDoesNothingIsHungUpOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNewcomers(nil)
		far := guest(t, n)
		began := time.Now()
		if _, err := far.Read(make([]byte, 1)); err != io.EOF || time.Since(began) != newcomerPatience {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}
