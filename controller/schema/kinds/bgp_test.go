package kinds

import (
	"net/netip"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func TestReadsCommunitiesAsOperatorsWriteThem(t *testing.T) {
	for text, want := range map[string]uint32{
		"65000:100": 65000<<16 | 100, "65000 100": 65000<<16 | 100, "0:0": 0, "65535:65535": 0xffffffff,
		" 1:2 ":     1<<16 | 2,
		"no-export": 0xffffff01, "no-advertise": 0xffffff02, "local-AS": 0xffffff03, "internet": 0,
	} {
		if got, err := Community(text); err != nil || got != want {
			t.Errorf("%q: got %#x, %v", text, got, err)
		}
	}
	for _, text := range []string{"65000:100", "no-export", "local-as", "65535:0"} {
		if read, err := Community(text); err != nil || CommunityText(read) != text {
			t.Errorf("%s is written as %s (%v)", text, CommunityText(read), err)
		}
	}
	for _, text := range []string{"", "65000", "65000:", ":1", "65000:100:1", "65536:1", "-1:1", "+1:1",
		"no-such", "1:2 3"} {
		if got, err := Community(text); err == nil {
			t.Errorf("%q: got %#x", text, got)
		}
	}
}

func TestCommunitiesOfARangeAreForTheAddressesInIt(t *testing.T) {
	ranged := IPCommunity{Begin: &IPAddr{Addr: "10.0.0.9"}, End: &IPAddr{Addr: "10.0.0.11"}}
	alone := IPCommunity{Begin: &IPAddr{Addr: "2001:db8::1"}}
	for address, want := range map[string][2]bool{
		"10.0.0.8": {}, "10.0.0.9": {true, false}, "10.0.0.11": {true, false}, "10.0.0.12": {},
		"2001:db8::1": {false, true}, "2001:db8::2": {},
	} {
		at := netip.MustParseAddr(address)
		if got := [2]bool{ranged.Covers(at), alone.Covers(at)}; got != want {
			t.Errorf("%s: got %v, want %v", address, got, want)
		}
	}
}

func TestPeersGoByTheProfileInWhatTheyDoNotSay(t *testing.T) {
	profile := BGPProfile{LocalAS: 65000, KeepaliveS: 60, HoldS: 180}
	for _, c := range []struct {
		peer                           BGPPeer
		local, remote, keepalive, hold uint32
	}{
		{BGPPeer{}, 65000, 65000, 60, 180},
		{BGPPeer{RemoteAS: 65001, KeepaliveS: 1, HoldS: 3}, 65000, 65001, 1, 3},
		{BGPPeer{RemoteAS: 65001, LocalAS: 65002}, 65002, 65001, 60, 180},
		{BGPPeer{RemoteAS: 65001, IBGPLocalASOverride: true}, 65001, 65001, 60, 180},
	} {
		keepalive, hold := c.peer.Timers(&profile)
		if profile.Local(&c.peer) != c.local || profile.Remote(&c.peer) != c.remote ||
			keepalive != c.keepalive || hold != c.hold {
			t.Errorf("%+v: got %d, %d, %d, %d", c.peer, profile.Local(&c.peer),
				profile.Remote(&c.peer), keepalive, hold)
		}
	}
}

func TestMD5SecretIsNeverReadBack(t *testing.T) {
	k := kindOf(t, "vrfcontext")
	stored := created(t, "vrfcontext",
		`{"name":"v","bgp_profile":{"local_as":65000,"ibgp":true,"peers":[{"peer_ip":{"addr":"10.0.0.1"},"md5_secret":"s"}]}}`)
	hidden := k.Redact(stored)
	peer := func(o schema.Object) schema.Object {
		return o["bgp_profile"].(schema.Object)["peers"].([]any)[0].(schema.Object)
	}
	if peer(hidden)["md5_secret"] != schema.Sensitive {
		t.Errorf("read back as %v", peer(hidden))
	}
	k.KeepSecrets(hidden, stored)
	if peer(hidden)["md5_secret"] != "s" {
		t.Errorf("sent back, it became %v", peer(hidden))
	}
}
