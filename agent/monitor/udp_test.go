package monitor

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/tests/accept"
)

// answersDatagrams answers each datagram with what answer returns; nil: not at all.
func answersDatagrams(t *testing.T, answer func(question []byte) []byte) net.Addr {
	t.Helper()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	go func() {
		room := make([]byte, datagramBytesMax)
		for {
			n, from, err := socket.ReadFromUDPAddrPort(room)
			if err != nil {
				return
			}
			if reply := answer(room[:n]); reply != nil {
				socket.WriteToUDPAddrPort(reply, from)
			}
		}
	}()
	return socket.LocalAddr()
}

func TestUDPMonitorJudgesTheAnswer(t *testing.T) {
	says := func(text string) func([]byte) []byte { return func([]byte) []byte { return []byte(text) } }
	echo := func(question []byte) []byte { return append([]byte("you said "), question...) }
	silent := func([]byte) []byte { return nil }
	for name, c := range map[string]struct {
		check  plan.UDPCheck
		answer func([]byte) []byte
		reason string
	}{
		"the answer holds the text": {plan.UDPCheck{Request: "hi", Contains: "said hi"}, echo, ""},
		"the answer lacks the text": {plan.UDPCheck{Request: "hi", Contains: "ho"}, echo,
			`no "ho" in the first 2048 bytes of its answer`},
		"any answer will do": {plan.UDPCheck{Request: "hi"}, says("what?"), ""},
		"silence will do":    {plan.UDPCheck{Request: "hi"}, silent, ""},
		"silence is no answer": {plan.UDPCheck{Request: "hi", Contains: "x"}, silent,
			"no answer within 50 ms"},
		"the answer says maintenance": {plan.UDPCheck{Request: "hi", MaintenanceContains: "away"}, says("go away"),
			`it answers "away", it is in maintenance`},
		"an empty answer": {plan.UDPCheck{Request: "hi", Contains: "x"}, func([]byte) []byte { return []byte{} },
			`no "x" in the first 2048 bytes of its answer`},
	} {
		t.Run(name, func(t *testing.T) {
			monitor := &plan.Monitor{Type: plan.UDP, UDP: c.check, Timeout: time.Minute}
			if name == "silence will do" || name == "silence is no answer" {
				monitor.Timeout = 50 * time.Millisecond
			}
			outcome := Probe(t.Context(), targetAt(answersDatagrams(t, c.answer), monitor))
			if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
				t.Errorf("got %+v, want %q", outcome, c.reason)
			}
			if outcome.Maintenance != (name == "the answer says maintenance") {
				t.Errorf("maintenance %v", outcome.Maintenance)
			}
		})
	}
}

func TestUDPMonitorHearsThatNobodyWaitsForItsDatagram(t *testing.T) {
	closed := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(accept.FreeAddress(t)))
	monitor := &plan.Monitor{Type: plan.UDP, UDP: plan.UDPCheck{Request: "hi"}}
	if outcome := Probe(t.Context(), targetAt(closed, monitor)); outcome.Up || outcome.Reason != "connection refused" {
		t.Errorf("got %+v", outcome)
	}
}
