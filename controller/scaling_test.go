package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/alert"
	"github.com/weir-lb/weir/controller/alert/notify"
	"github.com/weir-lb/weir/controller/autoscale"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const scalingToken = "0123456789abcdef"

// scaler is a controller that scales a pool, and the receiver of its webhook.
type scaler struct {
	*fleettest.Stage
	gate    *admit.Gate
	objects *store.Store
	alerts  *alert.Alerts
	watch   *autoscale.Watch
	refuses int // so many requests
	asked   chan map[string]any
}

func newScaler(t *testing.T, policy schema.Object) *scaler {
	s := &scaler{Stage: fleettest.New(t), asked: make(chan map[string]any, 10)}
	s.gate, s.objects = openGate(t)
	receiver := httptest.NewServer(http.HandlerFunc(s.receive))
	t.Cleanup(receiver.Close)
	s.alerts = alert.New(alert.Config{Content: contentOf(s.objects),
		Sender: &notify.Sender{AllowLocal: true, Now: time.Now}, Log: slog.New(slog.DiscardHandler)})
	policy["name"] = "policy"
	s.create("webhook", "hook-1", schema.Object{"name": "hook", "callback_url": receiver.URL + "/scale",
		"verification_token": scalingToken})
	for _, rule := range []string{"many", "few"} {
		s.create("alertconfig", rule+"-1", schema.Object{"name": rule, "source": "METRICS", "object_type": "POOL",
			"alert_rule": schema.Object{"metrics_rule": []any{schema.Object{"metric_id": "l4_server.avg_open_conns",
				"metric_threshold": schema.Object{"threshold": json.Number("5")}}}}})
	}
	s.create("serverautoscalepolicy", "policy-1", policy)
	s.create("autoscalelaunchconfig", "launch-1", schema.Object{"name": "launch", "image_id": "web-42",
		"weir_webhook_ref": "/api/webhook/hook-1"})
	s.create("pool", "pool-1", schema.Object{"name": "web-pool",
		"autoscale_policy_ref":        "/api/serverautoscalepolicy/policy-1",
		"autoscale_launch_config_ref": "/api/autoscalelaunchconfig/launch-1",
		"servers":                     []any{serverAt("10.0.0.1"), serverAt("10.0.0.2")}})
	s.Serve("se-one", "se-two")
	for _, engine := range []string{"se-one", "se-two"} {
		s.Judge(engine, "10.0.0.1:80", true, "")
		s.Judge(engine, "10.0.0.2:80", true, "")
	}
	s.lead()
	return s
}

func serverAt(address string) schema.Object {
	return schema.Object{"ip": schema.Object{"addr": address, "type": "V4"}}
}

// lead has a new leader scale.
func (s *scaler) lead() {
	s.watch = autoscale.New(autoscale.Config{
		View: s.objects.View, Fleet: s.Fleet, Save: saverOfScaling(s.gate), Post: s.alerts.Post,
		Pause: func(context.Context, int) {}, Events: s.Events, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return s.Now },
	})
}

func (s *scaler) create(kind, uuid string, object schema.Object) {
	s.Helper()
	s.write(func(tx *admit.Tx) error {
		_, err := tx.Create(kind, object, uuid)
		return err
	})
}

func (s *scaler) write(do func(tx *admit.Tx) error) {
	s.Helper()
	if err := s.gate.Update(s.Context(), admin(), do); err != nil {
		s.Fatal(err)
	}
}

// fires has an alert of a rule fire, or no alert if the rule is empty.
func (s *scaler) fires(rule string) {
	s.Helper()
	one := alertOf("alert-1")
	_, stored := s.objects.View().Get(alertKind, "alert-1")
	one.ConfigRef, one.ObjectUUID, one.MetricID = "/api/alertconfig/"+rule+"-1", "pool-1", "l4_server.avg_open_conns"
	one.Reason = rule + " connections"
	change := alert.Change{Alert: one, Tenant: "admin", Fresh: !stored, Gone: rule == ""}
	if err := saverOf(s.gate)(s.Context(), []alert.Change{change}); err != nil {
		s.Fatal(err)
	}
}

// receive is the receiver of the webhook. It checks what it gets as docs/alerts.md says.
func (s *scaler) receive(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var asked map[string]any
	err := json.Unmarshal(body, &asked)
	signed := notify.Signature(scalingToken, r.Header.Get("X-Weir-Timestamp"), body)
	if err != nil || r.Header.Get("X-Weir-Signature") != signed || r.Header.Get("X-Weir-Delivery") != asked["id"] {
		s.Errorf("got %v %s: %v", r.Header, body, err)
	}
	if s.refuses > 0 {
		s.refuses--
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	s.asked <- asked
	w.WriteHeader(http.StatusAccepted)
}

// next is the next order that the webhook takes.
func (s *scaler) next() map[string]any {
	s.Helper()
	select {
	case asked := <-s.asked:
		return asked
	case <-time.After(patience):
		s.Fatal("the webhook is not asked")
		return nil
	}
}

// looks looks until an event is told.
func (s *scaler) looks(id string) {
	s.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		s.watch.Look(s.Context())
		if slices.ContainsFunc(s.Events.Entries(), func(e events.Entry) bool { return e.ID == id }) {
			return
		}
	}
	s.Fatalf("no event %s: %+v", id, s.watch.Of("pool-1"))
}

// servers are those of the stored pool; disabled ones stand in parentheses.
func (s *scaler) servers() string {
	var all []string
	record, _ := s.objects.View().Get("pool", "pool-1")
	servers, _ := record.Object["servers"].([]any)
	for _, each := range servers {
		server := each.(schema.Object)
		text := fmt.Sprint(server["ip"].(schema.Object)["addr"])
		if server["enabled"] == false {
			text = "(" + text + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func (s *scaler) wantServers(want string) {
	s.Helper()
	if got := s.servers(); got != want {
		s.Errorf("the servers are %s, want %s", got, want)
	}
}

func (s *scaler) setServers(servers ...any) {
	s.Helper()
	s.write(func(tx *admit.Tx) error {
		return tx.Change("pool", "pool-1", func(o schema.Object) { o["servers"] = servers })
	})
}

func TestWebhookIsAskedForServersUntilItTakesTheOrder(t *testing.T) {
	s := newScaler(t, schema.Object{"scaleout_alertconfig_refs": []any{"/api/alertconfig/many-1"},
		"max_size": json.Number("3"), "max_scaleout_adjustment_step": json.Number("2")})
	s.watch.Look(t.Context())
	s.refuses = 2
	s.fires("many")
	s.watch.Look(t.Context())
	asked := s.next()
	pool, launch := asked["pool"].(map[string]any), asked["launch_config"].(map[string]any)
	if asked["action"] != "SCALEOUT" || asked["count"] != 1.0 || pool["uuid"] != "pool-1" ||
		pool["name"] != "web-pool" ||
		launch["image_id"] != "web-42" || asked["max_size"] != 3.0 || asked["size"] != 2.0 ||
		!strings.Contains(fmt.Sprint(asked["reason"]), "many connections") || asked["servers"] != nil {
		t.Errorf("asked %v", asked)
	}
	s.looks("SERVER_AUTOSCALE_OUT")
	s.setServers(serverAt("10.0.0.1"), serverAt("10.0.0.2"), serverAt("10.0.0.3"))
	s.looks("SERVER_AUTOSCALE_OUT_COMPLETE")
	if order := s.watch.Of("pool-1").Out; order.Phase != autoscale.Done || order.Tries != 3 {
		t.Errorf("got %+v", order)
	}
}

func TestServersAreDisabledFirstAndThenTheWebhookRemovesThem(t *testing.T) {
	s := newScaler(t, schema.Object{"scalein_alertconfig_refs": []any{"/api/alertconfig/few-1"}})
	s.fires("few")
	s.watch.Look(t.Context())
	s.wantServers("10.0.0.1 (10.0.0.2)")
	if last := s.gate.Audit.Entries()[0]; last.User != "system:autoscale" || last.Kind != "pool" {
		t.Errorf("audited is %+v", last)
	}
	s.Now = s.Now.Add(20 * time.Second)
	s.watch.Look(t.Context()) // no engine has heard of it
	s.WebPool.Members[1].Enabled = false
	s.Want(11, "vs-1")
	s.Want(12, "vs-1", "pool-1")
	s.Serve("se-one", "se-two")
	s.lead() // another leader goes on with it
	s.watch.Look(t.Context())
	s.Now = s.Now.Add(10 * time.Second)
	s.watch.Look(t.Context())
	asked := s.next()
	if waited := s.watch.Of("pool-1").In.Since.Sub(s.watch.Of("pool-1").In.Begun); waited != 30*time.Second {
		t.Errorf("the webhook is asked after %v", waited)
	}
	servers := asked["servers"].([]any)
	if server := servers[0].(map[string]any); asked["action"] != "SCALEIN" || asked["count"] != 1.0 ||
		len(servers) != 1 ||
		server["ip"] != "10.0.0.2" || server["port"] != 80.0 || server["id"] != "10.0.0.2:80" {
		t.Errorf("asked %v", asked)
	}
	s.lead() // the first answer is lost with its leader
	s.watch.Look(t.Context())
	if again := s.next(); again["id"] != asked["id"] {
		t.Errorf("asked %v, and then %v", asked["id"], again["id"])
	}
	s.looks("SERVER_AUTOSCALE_IN")
	s.fires("")
	s.setServers(serverAt("10.0.0.1"))
	s.looks("SERVER_AUTOSCALE_IN_COMPLETE")
	s.write(func(tx *admit.Tx) error {
		return tx.Change("pool", "pool-1", func(o schema.Object) { delete(o, "autoscale_policy_ref") })
	})
	s.watch.Look(t.Context())
	if _, kept := s.objects.View().Get(autoscale.Kind, "pool-1"); kept || s.watch.Of("pool-1") != nil {
		t.Error("a pool without a policy is remembered")
	}
}

func TestWhatWasDecidedOnAnOldViewIsNotWritten(t *testing.T) {
	s := newScaler(t, schema.Object{"scalein_alertconfig_refs": []any{"/api/alertconfig/few-1"}})
	seen, _ := s.objects.View().Get("pool", "pool-1")
	save := saverOfScaling(s.gate)
	change := autoscale.Change{Pool: "pool-1", Modified: seen.Modified, Disable: []string{"10.0.0.2:80"},
		State: &autoscale.State{UUID: "pool-1"}}
	s.write(func(tx *admit.Tx) error {
		return tx.Change("pool", "pool-1", func(o schema.Object) { delete(o, "autoscale_policy_ref") })
	})
	if err := save(t.Context(), change); !errors.Is(err, autoscale.ErrChanged) {
		t.Errorf("of a pool that was changed: %v", err)
	}
	s.wantServers("10.0.0.1 10.0.0.2")
	s.write(func(tx *admit.Tx) error { return tx.Delete("pool", "pool-1") })
	if err := save(t.Context(), change); !errors.Is(err, autoscale.ErrChanged) {
		t.Errorf("of a pool that is gone: %v", err)
	}
	if _, kept := s.objects.View().Get(autoscale.Kind, "pool-1"); kept {
		t.Error("it is written")
	}
}

func TestReadersOfAPoolAreNotToldWhatTheWebhookOfAnotherTenantAnswers(t *testing.T) {
	s := newScaler(t, schema.Object{"scaleout_alertconfig_refs": []any{"/api/alertconfig/many-1"}})
	s.create("tenant", "tenant-1", schema.Object{"name": "shop"})
	s.create("pool", "pool-2", schema.Object{"name": "shop-pool", "tenant_ref": "/api/tenant/tenant-1",
		"autoscale_policy_ref":        "/api/serverautoscalepolicy/policy-1",
		"autoscale_launch_config_ref": "/api/autoscalelaunchconfig/launch-1",
		"servers":                     []any{serverAt("10.0.0.1")}})
	s.refuses = notify.TriesMost
	one := alertOf("alert-1")
	one.ConfigRef, one.ObjectUUID, one.MetricID = "/api/alertconfig/many-1", "pool-2", "l4_server.avg_open_conns"
	if err := saverOf(s.gate)(s.Context(), []alert.Change{{Alert: one, Tenant: "admin", Fresh: true}}); err != nil {
		t.Fatal(err)
	}
	s.looks("SERVER_AUTOSCALE_OUT_FAILED")
	if order := s.watch.Of("pool-2").Out; order.Result != "503" {
		t.Errorf("got %+v", order)
	}
}
