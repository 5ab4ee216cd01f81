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
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/weir-lb/weir/api/engine/enrollment"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/port"
)

func TestWhoHasNotJoinedMaySayLittle(t *testing.T) {
	rig := newRig(t)
	if _, err := rig.joinWith(strings.Repeat("x", joinBytesMax), "a"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v", err)
	}
	agent := rig.session(rig.join("a"), 0)
	rig.expect("se-a connected")
	agent.say(&enginev1.Report{Body: &enginev1.Report_Status{Status: &enginev1.Status{Reason: strings.Repeat(
		"x", joinBytesMax)}}})
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

// holdOut opens more connections than there are places. It expects that an engine can still connect, and another one
// can join.
func (r *rig) holdOut(places int, connect func() net.Conn) {
	r.Helper()
	identity := r.join("a")
	closed := make(chan error, 1)
	for range places + 10 {
		connection := connect()
		go func() {
			_, err := io.Copy(io.Discard, connection)
			select {
			case closed <- err:
			default:
			}
		}()
	}
	began := time.Now()
	select {
	case <-closed:
	case <-time.After(patience):
		r.Error("nobody was hung up on")
	}
	r.session(identity, 0)
	r.expect("se-a connected")
	r.session(r.join("b"), 0)
	r.expect("se-b connected")
	if took := time.Since(began); took > handshakeTimeout/2 {
		r.Errorf("engines were let in after %v, when the crowd was given up", took)
	}
}

func TestCrowdOfNewcomersKeepsNoEngineOut(t *testing.T) {
	rig := newRig(t)
	rig.holdOut(newcomersBounds.Places, rig.knock)
}

func TestHandshakesThatNeverEndKeepNoEngineOut(t *testing.T) {
	rig := newRig(t)
	rig.holdOut(unknownBounds.Places, func() net.Conn {
		connection, err := net.Dial("tcp", rig.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { connection.Close() })
		return connection
	})
}

// guest returns the far end of a connection that newcomers admitted.
func guest(t *testing.T, n *newcomers) net.Conn {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { far.Close() })
	conn, err := port.Admit(near, port.NewRoom("unknown", unknownBounds, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.admit(conn, conn, credentials.TLSInfo{}); err != nil {
		t.Fatal(err)
	}
	return far
}

func newRoomed() *newcomers {
	return newNewcomers(nil, port.NewRoom("newcomers", newcomersBounds, nil))
}

func TestNewcomerThatJoinsIsNotClosedForAnother(t *testing.T) {
	n := newRoomed()
	guest(t, n)
	joins, err := n.Accept()
	if err != nil {
		t.Fatal(err)
	}
	done := work(peer.NewContext(t.Context(), &peer.Peer{AuthInfo: joins.(*newcomer).shown}))
	waits := guest(t, n)
	if err := waits.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for range newcomersBounds.Places - 1 {
		guest(t, n)
		if _, err := n.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := waits.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("who waited longest but for the one that joins got %v", err)
	}
	done()
}

func TestNewcomerThatDoesNothingIsHungUpOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newRoomed()
		far := guest(t, n)
		began := time.Now()
		if _, err := far.Read(make([]byte, 1)); err != io.EOF || time.Since(began) != newcomerPatience {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}
