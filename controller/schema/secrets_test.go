package schema

import "testing"

func TestHidesSecretsAndKeepsThemWhenSentBack(t *testing.T) {
	k := kindByName["healthmonitor"]
	stored := created(t, "healthmonitor", `{"name":"m","type":"HEALTH_MONITOR_TCP","authentication":{"username":"u","password":"p"}}`)
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
