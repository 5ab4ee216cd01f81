package alert

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// logRuleOn is a rule on records of requests.
func logRuleOn(t *testing.T, more, filter string) *Rule {
	t.Helper()
	rule := ruleOn(t, fmt.Sprintf(`{"name":"log","source":"APP_LOGS","throttle":60,%s
		"alert_rule":{"conn_app_log_rule":{"filter_string":%q}}}`, more, filter))
	where, err := LogCondition(rule.Source, filter)
	if err != nil {
		t.Fatal(err)
	}
	rule.where = where
	return rule
}

// request is a record of a request that ended so long before now.
func (d *desk) request(before time.Duration, fields ...string) wire.Row {
	row := wire.Row{Time: d.now.Add(-before), Type: query.Requests, Scope: "admin", Fields: []wire.Field{
		{Name: "request_id", Value: "se-1-0-a.7"}, {Name: "virtualservice", Value: "vs-1"},
		{Name: "vs_name", Value: "web"},
		{Name: "pool", Value: "pool-1"}, {Name: "pool_name", Value: "pool"},
		{Name: "service_engine_uuid", Value: "se-1"}, {Name: "service_engine", Value: "engine"},
	}}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		row.Fields = append(row.Fields, wire.Field{Name: name, Value: value})
	}
	return row
}

// sees has the eye see records, and the book hear of them.
func (d *desk) sees(rows ...wire.Row) {
	d.alerts.See(rows)
	d.alerts.look()
}

func TestRecordThatFitsBeginsAnAlert(t *testing.T) {
	d := newDesk(t, logRuleOn(t, "", "filter=ge(response_code,500)&filter=sw(uri_path,/pay)"))
	d.sees(d.request(0, "response_code=503", "uri_path=/shop"), d.request(0, "response_code=404", "uri_path=/pay"))
	d.wants("one half fits each")
	other := d.request(0, "response_code=503", "uri_path=/pay")
	other.Type = query.Connections
	d.sees(other)
	d.wants("a connection")
	d.sees(d.request(0, "response_code=503", "uri_path=/pay", "lost=3"))
	d.wants("what is lost is not known")
	d.sees(d.request(0, "response_code=503", "uri_path=/pay/1", "weight=4"))
	d.wants("it fits", "hook FIRING web")
	for _, stored := range d.stored {
		if !strings.Contains(stored.Reason, "4 at 12:00:00, such as se-1-0-a.7") || stored.ThrottleCount != 3 ||
			stored.ObjectUUID != "vs-1" || stored.ObjectType != "VIRTUALSERVICE" {
			t.Errorf("stored is %+v", stored)
		}
	}
	d.pass(30 * time.Second)
	d.sees(d.request(0, "response_code=500", "uri_path=/pay"))
	d.wants("within the throttle")
	d.pass(time.Minute)
	d.sees(d.request(0, "response_code=500", "uri_path=/pay"))
	d.wants("after it", "hook FIRING web")
}

func TestRollingWindowAddsUpWeightsOfEachObject(t *testing.T) {
	d := newDesk(t, logRuleOn(t, `"category":"ROLLINGWINDOW","threshold":100,"rolling_window":60,`,
		"eq(response_code,503)"))
	shop := d.request(0, "response_code=503", "weight=99")
	shop.Fields[1].Value, shop.Fields[2].Value = "vs-2", "shop"
	d.sees(shop, d.request(0, "response_code=503", "weight=60"))
	d.pass(35 * time.Second)
	d.sees(d.request(0, "response_code=503", "weight=39"))
	d.wants("99 of each")
	d.sees(d.request(70*time.Second, "response_code=503", "weight=1000"))
	d.wants("late, and not in the window any more")
	d.pass(20 * time.Second)
	d.sees(d.request(30*time.Second, "response_code=503", "weight=1"))
	d.wants("late, and still in it", "hook FIRING web")
	d.pass(10 * time.Second)
	d.wants("the first 60 are over", "hook RESOLVED web")
}

func TestRulesOnRecordsSeeTheirTenantAndObjects(t *testing.T) {
	for more, want := range map[string]string{
		"":                                     "hook FIRING web",
		`"object_type":"POOL",`:                "hook FIRING pool",
		`"object_type":"SERVICEENGINE",`:       "hook FIRING engine",
		`"obj_uuid":"vs-2",`:                   "",
		`"object_type":"POOL","obj_uuid":"x",`: "",
		`"object_type":"VIRTUALSERVICE","obj_uuid":"vs-1",`: "hook FIRING web",
		`"object_type":"VIRTUALSERVICE","obj_uuid":"vs-2",`: "",
	} {
		d := newDesk(t, logRuleOn(t, more, "eq(response_code,503)"))
		d.sees(d.request(0, "response_code=503"))
		if got := strings.Join(d.sent(), " "); got != want {
			t.Errorf("%s: sent %q, want %q", more, got, want)
		}
	}
	blue := logRuleOn(t, "", "eq(response_code,503)")
	blue.Tenant = "blue"
	d := newDesk(t, blue)
	row := d.request(0, "response_code=503")
	d.sees(row)
	d.wants("of another tenant")
	row.Scope = "blue"
	d.sees(row)
	d.wants("its own", "hook FIRING web")
}

// A window must not grow with what happens in it.
func TestWindowHasFewPartsHoweverMuchHappens(t *testing.T) {
	var w window
	for i := range 120_000 { // the newest first
		w = w.add(noon.Add(time.Duration(59_999-i%60_000)*time.Millisecond), 2, time.Minute)
	}
	if got := w.most(time.Minute, time.Time{}); got != 240_000 || len(w) > partsMost {
		t.Errorf("%d times in %d parts", got, len(w))
	}
}

func BenchmarkRecordsComparedWithRules(b *testing.B) {
	const rules, rows = 100, 1000
	eye := newEye()
	var all []*Rule
	for i := range rules {
		where, err := LogCondition("APP_LOGS", fmt.Sprintf("ge(response_code,500)&eq(host,h%d)", i))
		if err != nil {
			b.Fatal(err)
		}
		rule := ruleOn(&testing.T{},
			`{"name":"log","source":"APP_LOGS","alert_rule":{"conn_app_log_rule":{"filter_string":"eq(host,x)"}}}`)
		all = append(all, &Rule{AlertConfig: rule.AlertConfig, Tenant: "admin", where: where})
	}
	eye.follow(all)
	d := &desk{now: noon}
	batch := make([]wire.Row, rows)
	for i := range batch {
		var fields []string
		for n := range 30 {
			fields = append(fields, fmt.Sprintf("other_%d=value", n))
		}
		batch[i] = d.request(0, append(fields, "response_code=503", "host=h7")...)
	}
	for b.Loop() {
		eye.see(batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/record")
}
