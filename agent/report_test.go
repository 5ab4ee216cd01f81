package agent

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weir-lb/weir/agent/dataplane"
	"github.com/weir-lb/weir/agent/fastpath/detour"
	"github.com/weir-lb/weir/agent/monitor"
	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/agent/route"
)

// lacking are the fields of a message that are not set, and those of the messages in it.
func lacking(message protoreflect.Message) (names []protoreflect.FullName) {
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		value := message.Get(field)
		switch {
		case !message.Has(field):
			names = append(names, field.FullName())
		case field.IsList() && field.Message() != nil:
			for j := range value.List().Len() {
				names = append(names, lacking(value.List().Get(j).Message())...)
			}
		case field.Message() != nil:
			names = append(names, lacking(value.Message())...)
		}
	}
	return names
}

func TestControllerHearsAllThatIsSaid(t *testing.T) {
	address := netip.MustParseAddr("10.0.0.1")
	for _, said := range []proto.Message{
		wireStatus(dataplane.Status{
			State: dataplane.BackingOff, Reason: "it died", PID: 7, Restarts: 1, ServingRevision: 2, SinceUnixMs: 3,
		}),
		wireVerdicts([]monitor.Verdict{{
			Member: plan.Member{Pool: "p", Server: "s"}, Up: true, Reason: "r", SinceUnixMs: 1,
			Monitors: []monitor.MonitorVerdict{{UUID: "m", Up: true, Reason: "r", Took: time.Millisecond}},
		}}),
		wireDetours(&detour.Counts{Strays: 1, Searched: 2, Found: 3, PassedOn: 4, Taken: 5, Unowned: 6, Dropped: 7}),
		wireRouting(&route.Routing{
			NextHop: address,
			Peers: []route.PeerState{{
				Address: address, Label: "l", LocalAS: 1, RemoteAS: 2, LocalAddress: "10.0.0.2", RouterID: "10.0.0.3",
				State: route.Established, SinceUnixMs: 4, Reason: "r", EstablishedCount: 5, BFD: route.BFDUp, HoldS: 6,
			}},
			Routes: []route.AnnouncedRoute{{
				Prefix: netip.PrefixFrom(address, 32), Peers: []netip.Addr{address}, Communities: []uint32{1},
				LocalPreference: 2,
				ASPathPrepend:   3, Services: []string{"vs-1"}, SinceUnixMs: 4,
			}},
		}),
		wireEvent(route.Event{UnixMs: 1, ID: "E", VRF: "vrf-1", Message: "m"}),
	} {
		if names := lacking(said.ProtoReflect()); names != nil {
			t.Errorf("nothing is said of %v", names)
		}
	}
}

func TestStatesAreToldByTheirNames(t *testing.T) {
	for state, want := range map[dataplane.State]string{
		dataplane.Unstarted: "DATAPLANE_STATE_UNSPECIFIED", dataplane.Starting: "DATAPLANE_STATE_STARTING",
		dataplane.Running: "DATAPLANE_STATE_RUNNING", dataplane.BackingOff: "DATAPLANE_STATE_BACKING_OFF",
		dataplane.Stopped: "DATAPLANE_STATE_STOPPED",
	} {
		if got := wireStatus(dataplane.Status{State: state}).GetDataplane().String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for state, want := range map[route.BGPState]string{
		0: "BGP_STATE_UNSPECIFIED", route.SessionIdle: "BGP_STATE_IDLE", route.Connect: "BGP_STATE_CONNECT",
		route.Active:   "BGP_STATE_ACTIVE",
		route.OpenSent: "BGP_STATE_OPEN_SENT", route.OpenConfirm: "BGP_STATE_OPEN_CONFIRM",
		route.Established: "BGP_STATE_ESTABLISHED",
	} {
		if got := wireBGPStates[state].String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for state, want := range map[route.BFDState]string{
		route.BFDOff: "BFD_STATE_OFF", route.BFDDown: "BFD_STATE_DOWN", route.BFDInit: "BFD_STATE_INIT",
		route.BFDUp: "BFD_STATE_UP",
	} {
		if got := wireBFDStates[state].String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCheckTimesOfManyServersComeInTurn(t *testing.T) {
	verdicts := make([]monitor.Verdict, checkTimesMax+5)
	for i := range verdicts {
		verdicts[i] = monitor.Verdict{Member: plan.Member{Pool: "p", Server: fmt.Sprint(i)},
			Monitors: []monitor.MonitorVerdict{{Took: time.Millisecond}, {Took: 3 * time.Millisecond}}}
	}
	first, next := checkTimes(verdicts, 0)
	second, last := checkTimes(verdicts, next)
	third, _ := checkTimes(verdicts, last)
	if len(first) != checkTimesMax || len(second) != 5 || len(third) != checkTimesMax ||
		second[0].GetServerId() != fmt.Sprint(checkTimesMax) || first[0].GetTookUs() != 3000 {
		t.Errorf("%d, %d, %d: %v", len(first), len(second), len(third), second)
	}
	if none, _ := checkTimes(nil, 7); none != nil {
		t.Errorf("%v", none)
	}
	if unchecked, _ := checkTimes([]monitor.Verdict{{}}, 0); unchecked != nil {
		t.Errorf("%v", unchecked)
	}
}
