package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/alert/notify"
)

// scaling is what a webhook that makes servers is asked.
type scaling struct {
	ID      string `json:"id"`
	Action  string `json:"action"`
	Count   int    `json:"count"`
	Servers []struct {
		ID string `json:"id"`
	} `json:"servers"`
}

// newScaler is a webhook that takes each order, and checks its signature.
func newScaler(t *testing.T) (url string, asked chan scaling) {
	asked = make(chan scaling, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var one scaling
		signed := notify.Signature(hookToken, r.Header.Get("X-Weir-Timestamp"), body)
		if err != nil || r.Header.Get("X-Weir-Signature") != signed || json.Unmarshal(body, &one) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		asked <- one
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/weir", asked
}

// order is the next order that the webhook takes.
func (s *stage) order(asked chan scaling, action string) scaling {
	s.Helper()
	select {
	case one := <-asked:
		if one.Action != action || one.Count != 1 {
			s.Fatalf("asked %+v, and not %s of one server", one, action)
		}
		return one
	case <-time.After(eventTimeout):
		s.Fatalf("no %s is asked within %v", action, eventTimeout)
		return scaling{}
	}
}

// A server that fails is replaced; when it comes back, the pool has one too many.
func TestPoolGetsAndLosesServers(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController("--allow-local-receivers"))
	s.must(s.startEngine())
	url, asked := newScaler(t)
	one, two, spare := newBreakable(t), newBreakable(t), newBreakable(t)
	s.create("webhook", client.Object{"name": "scaler", "callback_url": url, "verification_token": hookToken})
	s.create("autoscalelaunchconfig", client.Object{"name": "web", "weir_webhook_ref": client.Ref("webhook", "scaler")})
	for name, event := range map[string]string{"lost": "SERVER_DOWN", "back": "SERVER_UP"} {
		s.create("alertconfig", client.Object{"name": name, "source": "EVENT_LOGS",
			"object_type": "POOL", "throttle": 0,
			"alert_rule": map[string]any{"sys_event_rule": []any{map[string]any{"event_id": event}}}})
	}
	s.create("serverautoscalepolicy", client.Object{"name": "web", "min_size": 2, "max_size": 3, "scaleout_cooldown": 0,
		"scalein_cooldown": 0, "scaleout_alertconfig_refs": []any{client.Ref("alertconfig", "lost")},
		"scalein_alertconfig_refs": []any{client.Ref("alertconfig", "back")}})
	s.create("healthmonitor", client.Object{"name": "fast", "type": "HEALTH_MONITOR_TCP",
		"tcp_monitor":   map[string]any{},
		"send_interval": 1, "receive_timeout": 1, "failed_checks": 1, "successful_checks": 1})
	s.create("pool", client.Object{"name": "web", "servers": serverList([]string{one.address, two.address}),
		"health_monitor_refs":         []any{client.Ref("healthmonitor", "fast")},
		"autoscale_policy_ref":        client.Ref("serverautoscalepolicy", "web"),
		"autoscale_launch_config_ref": client.Ref("autoscalelaunchconfig", "web")})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	s.untilUp(2)

	one.server.Close()
	s.order(asked, "SCALEOUT")
	s.change("pool", "web", func(o client.Object) {
		o["servers"] = append(o["servers"].([]any), serverList([]string{spare.address})...)
	})
	s.untilTold("SERVER_AUTOSCALE_OUT_COMPLETE", "web: the pool has 1 server more")
	s.untilUp(2)

	one.start(one.address)
	s.untilTold("SERVER_AUTOSCALE_IN_TRIGGERED", "web: disables "+spare.address)
	removed := s.order(asked, "SCALEIN")
	if len(removed.Servers) != 1 || removed.Servers[0].ID != spare.address {
		t.Errorf("asked %+v", removed)
	}
	s.untilUp(2)
	s.change("pool", "web", func(o client.Object) {
		o["servers"] = slices.DeleteFunc(o["servers"].([]any), func(server any) bool {
			return server.(map[string]any)["enabled"] == false
		})
	})
	s.untilTold("SERVER_AUTOSCALE_IN_COMPLETE", "web: the pool has 1 server fewer")
	contains(t, s.commands()("pool", "show", "web"), "autoscale", "DONE")
}

func (s *stage) untilUp(servers int) {
	s.Helper()
	s.eventually(fmt.Sprintf("%d servers are up", servers), func() error {
		if up := s.runtime("pool", "web")["num_servers_up"]; up != float64(servers) {
			return fmt.Errorf("%v are up", up)
		}
		return nil
	})
}
