package pages

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-lb/weir/tests/built"
)

func TestPagesThatChangeThingsInABrowser(t *testing.T) {
	chromium, s := browser(t), empty(t)
	s.engine("engine-1")
	s.service("shop", "Sells shoes", 8080, s.server(time.Millisecond), s.server(time.Millisecond))
	s.waitUp("shop")
	chromium.run(s, "changes.mjs")
	chromium.run(s, "accounts.mjs")
}

func TestFirstSetUpInABrowserLeadsToAnAnswer(t *testing.T) {
	chromium, s := browser(t), empty(t)
	servers := s.server(time.Millisecond) + " " + s.server(time.Millisecond)
	chromium.run(s, "setup.mjs", "WEIR_PROGRAM="+filepath.Join(built.Programs(t), "weir"),
		"WEIR_STATE="+t.TempDir(), "WEIR_VIP="+s.vip, "WEIR_PORT=8443", "WEIR_SERVERS="+servers)
}
