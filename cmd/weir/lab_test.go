package main

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/network"
)

func TestShowsARunOfAddressesByItsEnds(t *testing.T) {
	var addresses []netip.Addr
	for _, text := range []string{"10.3.0.11", "10.3.0.12", "10.3.0.13", "10.0.0.1", "fd00::1", "fd00::2"} {
		addresses = append(addresses, netip.MustParseAddr(text))
	}
	if got, want := joinAddresses(addresses), "10.3.0.11 – 10.3.0.13, 10.0.0.1, fd00::1 – fd00::2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := joinAddresses(nil); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestCountsWhatRunsByProgram(t *testing.T) {
	running := []network.Process{{PID: 3, Program: "nginx"}, {PID: 1, Program: "bgpd"}, {PID: 4, Program: "nginx"}}
	if got, want := programs(running), "bgpd, nginx ×2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWhatToTypeNamesALabThatIsNotTheOnlyOne(t *testing.T) {
	state := lab.State{Name: "seed", Controller: "https://10.0.0.1:9443", PasswordFile: "/run/p",
		RouterShell: []string{"birdc", "-s", "/run/b"}}
	want := "Controller   bin/weir lab exec --lab seed controller bin/weir login https://10.0.0.1:9443 --password-file /run/p --trust-on-first-use\n" +
		"             bin/weir lab exec --lab seed controller bin/weir status\n" +
		"Router       bin/weir lab exec --lab seed router birdc -s /run/b \"show …\"\n" +
		"Client       bin/weir lab exec --lab seed client-1 curl …\n"
	if got := whatToType("bin/weir", state, false); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := whatToType("bin/weir", state, true); got != strings.ReplaceAll(want, " --lab seed", "") {
		t.Errorf("the only one: got\n%s", got)
	}
}

func TestLabThatWasSweptIsDown(t *testing.T) {
	other := errors.New("no permission")
	for _, c := range []struct {
		err   error
		swept []string
		fine  bool
	}{
		{&network.NotThere{Name: "seed"}, []string{"demo", "seed"}, true},
		{&network.NotThere{Name: "seed"}, []string{"demo"}, false},
		{&network.NotThere{Name: "seed"}, nil, false},
		{&network.NotThere{}, []string{"demo"}, true},
		{&network.NotThere{}, nil, false},
		{other, []string{"seed"}, false},
	} {
		if err := unlessSwept(c.err, c.swept); (err == nil) != c.fine {
			t.Errorf("%v after %v was swept: got %v", c.err, c.swept, err)
		}
	}
}
