package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/schema"
)

// fair is the score of a virtual service with a pool of one server.
func fair(uuid string) score.Report {
	return score.Report{
		Kind: "virtualservice", UUID: uuid, Name: "web",
		Score: score.Score{Band: score.Fair, Value: 71, Performance: 83, Security: 12, Formula: "the formula",
			Reasons: []score.Reason{
				{Part: score.Performance, Points: 17.04, Text: "28 % of requests slower than 2 s",
					Attr: "l7_client.apdexr"},
				{Part: score.Security, Points: 12, Text: "RC4 is offered", Attr: "weakest_enc_algo"},
			}},
		Parts: []score.Report{{Kind: "pool", UUID: "pool-1", Name: "servers",
			Score: score.Score{Band: score.Good, Value: 90, Performance: 90},
			Parts: []score.Report{{Kind: "server", UUID: "pool-1", Name: "10.0.0.1:80",
				Score: score.Score{Band: score.Grey, Why: "enabled is false"}}}}},
	}
}

// lastOf are the items of the data of a page, the last of them decoded.
func lastOf(t *testing.T, page schema.Object) (header, last schema.Object, items int) {
	t.Helper()
	series := page["series"].([]any)[0].(schema.Object)
	data := series["data"].([]any)
	return series["header"].(schema.Object), data[len(data)-1].(schema.Object), len(data)
}

func TestHealthScoreHasAvisShape(t *testing.T) {
	h, n, admin, _, web, _ := measuring(t)
	h.api.scores = func(kind, uuid string) (score.Report, bool) { return fair(uuid), kind == "virtualservice" }
	page := admin.want(http.StatusOK, "GET", "/api/analytics/healthscore/virtualservice/"+web+"?limit=3", nil)
	header, last, items := lastOf(t, page)
	if header["hs_type"] != "HEALTH_SCORE" || header["statistics"].(schema.Object)["mean"] != 7.5 || items != 3 {
		t.Errorf("%d items, header %v", items, header)
	}
	for field, want := range map[string]any{
		"value": 71.0, "performance_value": 83.0, "resources_penalty": 0.0, "anomaly_penalty": 0.0,
		"security_penalty": 12.0, "reason": "28 % of requests slower than 2 s", "reason_attr": "l7_client.apdexr",
		"weir_band": "fair", "weir_formula": "the formula", "timestamp": "2026-01-02T03:04:00+00:00",
	} {
		if last[field] != want {
			t.Errorf("%s is %v, want %v", field, last[field], want)
		}
	}
	if threat := last["security_threat_level"].(schema.Object); threat["value"] != 12.0 ||
		threat["reason"] != "RC4 is offered" {
		t.Errorf("security: %v", threat)
	}
	pool := last["nested"].([]any)[0].(schema.Object)
	server := pool["nested"].([]any)[0].(schema.Object)
	if pool["value"] != 90.0 || pool["entity_uuid"] != "pool-1" || server["value"] != nil ||
		server["reason"] != "enabled is false" {
		t.Errorf("nested: %v", pool)
	}
	if text := fmt.Sprint(header["contributors"]); !strings.Contains(text, "HEALTH_PERFORMANCE_SCORE") ||
		!strings.Contains(text, "l7_client.apdexr") || !strings.Contains(text, "HEALTH_SECURITY_THREAT_LEVEL") {
		t.Errorf("contributors: %s", text)
	}
	if asked := n.asked[0]; asked.Metric != "healthscore.health_score_value" || asked.Tenant != "admin" {
		t.Errorf("asked %+v", asked)
	}
}

func TestHealthScoreOfThePastHasNoReasons(t *testing.T) {
	h, n, admin, _, web, _ := measuring(t)
	h.api.scores = func(_, uuid string) (score.Report, bool) { return fair(uuid), true }
	for query, want := range map[string]string{
		"start=-7200&stop=-3600&step=300":                       "2026-01-02T02:04:05Z",
		"stop=2026-01-02T02:00:00Z&limit=4":                     "2026-01-02T02:00:00Z",
		"start=2026-01-02T01:00:00Z&stop=2026-01-02T02:00:00Z":  "2026-01-02T02:00:00Z",
		"start=-7200&stop=2026-01-02T02:00:00.000000%2B00:00":   "2026-01-02T02:00:00Z",
		"start=-7200&stop=2026-01-02T02:00:00Z&step=60&limit=9": "2026-01-02T02:00:00Z",
	} {
		page := admin.want(http.StatusOK, "GET", "/api/analytics/healthscore/virtualservice/"+web+"?"+query, nil)
		_, last, _ := lastOf(t, page)
		asked := n.asked[len(n.asked)-1]
		if last["value"] != 7.5 || last["reason"] != nil || asked.Stop.Format("2006-01-02T15:04:05Z07:00") != want {
			t.Errorf("%s: %v, asked until %v", query, last, asked.Stop)
		}
	}
}

func TestHealthScoreOfAServerAndOfAllObjects(t *testing.T) {
	h, _, admin, blue, web, _ := measuring(t)
	h.api.scores = func(kind, uuid string) (score.Report, bool) {
		if kind == "pool" {
			return fair(uuid).Parts[0], true
		}
		return fair(uuid), true
	}
	all := admin.want(http.StatusOK, "GET", "/api/analytics/healthscore/virtualservice", nil)
	if all["count"] != 1.0 || all["results"].([]any)[0].(schema.Object)["entity_uuid"] != web {
		t.Errorf("all: %v", all)
	}
	pools := admin.want(http.StatusOK, "GET", "/api/pool", nil)["results"].([]any)
	uuid := pools[0].(schema.Object)["uuid"].(string)
	page := admin.want(http.StatusOK, "GET", "/api/analytics/healthscore/pool/"+uuid+"?server=10.0.0.1:80", nil)
	header, last, _ := lastOf(t, page)
	if header["server"] != "10.0.0.1:80" || last["is_null"] != true || last["name"] != "10.0.0.1:80" {
		t.Errorf("server: %v %v", header, last)
	}
	blue.want(http.StatusNotFound, "GET", "/api/analytics/healthscore/virtualservice/"+web, nil)
	admin.want(http.StatusNotFound, "GET", "/api/analytics/healthscore/tenant/admin", nil)
	admin.want(http.StatusBadRequest, "GET", "/api/analytics/healthscore/virtualservice/"+web+"?step=none", nil)
}
