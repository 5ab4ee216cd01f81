package schema

import (
	"strings"
	"testing"
)

func TestHidesSecretsAndKeepsThemWhenSentBack(t *testing.T) {
	k := kindByName["healthmonitor"]
	stored := created(t, "healthmonitor",
		`{"name":"m","type":"HEALTH_MONITOR_TCP","authentication":{"username":"u","password":"p"}}`)
	hidden := k.Redact(stored)
	if got := hidden["authentication"].(Object)["password"]; got != Sensitive {
		t.Errorf("read back as %v", got)
	}
	if got := stored["authentication"].(Object)["password"]; got != "p" {
		t.Errorf("hiding changed what is stored to %v", got)
	}
	hidden["authentication"].(Object)["username"] = "new"
	k.KeepSecrets(hidden, stored)
	if got := hidden["authentication"].(Object); got["password"] != "p" || got["username"] != "new" {
		t.Errorf("sent back, it became %v", got)
	}
}

func TestDropsASecretThatWasNeverStored(t *testing.T) {
	next := Object{"name": "c", "key": Sensitive}
	kindByName["sslkeyandcertificate"].KeepSecrets(next, Object{})
	if _, ok := next["key"]; ok {
		t.Errorf("got %v", next)
	}
}

func TestShowsAnEmptySecretAsEmpty(t *testing.T) {
	hidden := kindByName["sslkeyandcertificate"].Redact(Object{"key_passphrase": ""})
	if hidden["key_passphrase"] != "" {
		t.Errorf("got %v", hidden)
	}
}

func TestSecretStaysWithItsPeerWhenTheListIsRearranged(t *testing.T) {
	k := kindByName["vrfcontext"]
	peers := func(text string) Object {
		return created(t, "vrfcontext", `{"name":"v","bgp_profile":{"local_as":65000,"ibgp":true,"peers":[`+text+`]}}`)
	}
	stored := peers(
		`{"peer_ip":{"addr":"10.0.0.1"},"md5_secret":"first"},{"peer_ip":{"addr":"10.0.0.2"},"md5_secret":"second"}`)
	for sent, want := range map[string][]any{
		`{"peer_ip":{"addr":"10.0.0.2"},"md5_secret":"<sensitive>"}`:                                                            {"second"},
		`{"peer_ip":{"addr":"10.0.0.2"},"md5_secret":"<sensitive>"},{"peer_ip":{"addr":"10.0.0.1"},"md5_secret":"<sensitive>"}`: {"second", "first"},
		// it has another position now
		`{"peer_ip":{"addr":"10.0.0.9"},"md5_secret":"<sensitive>"}`: {"first"},
		`{"peer_ip":{"addr":"10.0.0.2"}}`:                            {nil},
	} {
		next := peers(sent)
		k.KeepSecrets(next, stored)
		for i, peer := range next["bgp_profile"].(Object)["peers"].([]any) {
			if got := peer.(Object)["md5_secret"]; got != want[i] {
				t.Errorf("%s: peers[%d] has %v, want %v", sent, i, got, want[i])
			}
		}
	}
}

func TestPasswordsAndScriptsOfMonitorsAreSecrets(t *testing.T) {
	stored := created(t, "healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_EXTERNAL",
		"authentication":{"username":"hide","password":"hide"},
		"radius_monitor":{"username":"show","password":"hide","shared_secret":"hide"},
		"external_monitor":{"command_code":"hide","command_parameters":"show","command_variables":"A=hide"}}`)
	hidden := kindByName["healthmonitor"].Redact(stored)
	for path, want := range map[string]string{
		"authentication.username": Sensitive, "authentication.password": Sensitive,
		"radius_monitor.username": "show", "radius_monitor.password": Sensitive,
		"radius_monitor.shared_secret":       Sensitive,
		"external_monitor.command_code":      Sensitive,
		"external_monitor.command_variables": Sensitive, "external_monitor.command_parameters": "show",
	} {
		within, field, _ := strings.Cut(path, ".")
		if got := hidden[within].(Object)[field]; got != want {
			t.Errorf("%s is read back as %v", path, got)
		}
	}
}
