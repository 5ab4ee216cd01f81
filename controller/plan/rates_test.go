package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Rates are shared out over the engines that serve.
func TestEnginesKnowWithHowManyTheyShareLimits(t *testing.T) {
	const limit = `{"rate_limiter": {"count": 10}, "action": {"type": "RL_ACTION_RESET_CONN"}}`
	rules := func(of string) string {
		return `httppolicyset {"name": "rules", "http_security_policy": {"rules": [{"name": "r", "index": 1, "action": {
			"action": "HTTP_SECURITY_ACTION_RATE_LIMIT", "rate_profile": {"per_client_ip": ` + of + `,
			"rate_limiter": {"count": 5}, "action": {"type": "RL_ACTION_RESET_CONN"}}}}]}}` + "\n"
	}
	const uses = `"http_policies": [{"index": 1, "http_policy_set_ref": "/api/httppolicyset?name=rules"}]`
	network := func(action string) string {
		return `networksecuritypolicy {"name": "house", "rules": [{"name": "r", "index": 1, "enable": true, "match": {}, ` +
			`"action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_` + action + `"}]}` + "\n"
	}
	const guarded = `"network_security_policy_ref": "/api/networksecuritypolicy?name=house"`
	for said, want := range map[string]uint32{
		`"requests_rate_limit": ` + limit:    3,
		`"connections_rate_limit": ` + limit: 3,
		`"max_cps_per_client": 10`:           3,
		rules("false") + "|" + uses:          3,
		rules("true") + "|" + uses:           3,
		network(`RATE_LIMIT", "rl_param": {"max_rate": 5, "burst_size": 5}, "created_by": "`) + "|" + guarded: 3,
		network("DENY") + "|" + guarded: 0,
		`"description": "no limit"`:     0,
	} {
		before, fields, both := strings.Cut(said, "|")
		if !both {
			before, fields = "", said
		}
		m, _ := model.Build(7, objectsIn(t, before+`
virtualservice {"name": "v", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}], `+
			strings.ReplaceAll(fields, "\n", " ")+"}\n"))
		seat := func(engine string, state place.SeatState) place.Seat {
			return place.Seat{Engine: engine, State: state, NextHop: netip.MustParseAddr("10.1.0.11")}
		}
		assignment := place.Assignment{VirtualService: m.VirtualServices[0].UUID, Seats: []place.Seat{
			seat(engineUUID, place.Serving), seat("se-other", place.Starting), seat("se-leaving", place.Draining),
			seat("se-standby", place.Standby), seat("se-stopped", place.Stopped)}}
		compiled, findings := compilerOf(m, nil, place.Assignments(nil).With([]place.Assignment{assignment})).
			Compile(engineUUID, nil)
		got := "no virtual service"
		for _, resource := range compiled.GetResources() {
			if vs := resource.GetVirtualService(); vs != nil {
				got = fmt.Sprint(vs.GetEngines())
				if seeded := vs.GetKeySeed() != 0; seeded != (want > 0) {
					t.Errorf("%s: the seed of keys is %d", said, vs.GetKeySeed())
				}
			}
		}
		if got != fmt.Sprint(want) {
			t.Errorf("%s: got %s, want %d; %v", said, got, want, findings)
		}
	}
}

// An engine would refuse its whole Plan.
func TestLimitsOfServersFromBeforeTheirCheckAreLeftOut(t *testing.T) {
	const redirect = "max_conn_rate_per_server.action.redirect"
	for field, weaken := range map[string]func(*kinds.RateLimiterAction){
		redirect:           func(action *kinds.RateLimiterAction) { action.Redirect = nil },
		redirect + ".host": func(action *kinds.RateLimiterAction) { action.Redirect.Host = nil },
	} {
		m, _ := model.Build(7, objectsIn(t, `
pool {"name": "p", "max_conn_rate_per_server": {"rate_limiter": {}, "action": {"type": "RL_ACTION_REDIRECT",`+
			` "redirect": {"protocol": "HTTP", "host": {"type": "URI_PARAM_TYPE_TOKENIZED", "tokens":`+
			` [{"type": "URI_TOKEN_TYPE_STRING", "str_value": "busy.test"}]}}}}}
virtualservice {"name": "v", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}],`+
			` "pool_ref": "/api/pool?name=p"}
`))
		weaken(m.VirtualServices[0].Pool.MaxConnRatePerServer.Action)
		compiled, findings := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
		if !slices.ContainsFunc(findings, func(f model.Finding) bool {
			return f.Field == field && strings.Contains(f.Message, "has no effect")
		}) {
			t.Errorf("%s: %v", field, findings)
		}
		for _, resource := range compiled.GetResources() {
			if pool := resource.GetPool().GetPool(); pool.GetConnectRate() != nil {
				t.Errorf("%s: %v", field, pool)
			}
		}
	}
}

// Otherwise, all keys would begin anew when a second engine comes.
func TestEngineAloneCountsKeysByTheSeedThatSeveralWouldHave(t *testing.T) {
	m, _ := model.Build(7, objectsIn(t, `
virtualservice {"name": "v", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}], `+
		`"max_cps_per_client": 10}
`))
	seeds := map[uint64]bool{}
	for _, others := range [][]place.SeatState{nil, {place.Standby}, {place.Serving}} {
		assignment := place.Assignment{VirtualService: m.VirtualServices[0].UUID}
		for i, state := range append([]place.SeatState{place.Serving}, others...) {
			engine := []string{engineUUID, "se-other"}[i]
			assignment.Seats = append(assignment.Seats, place.Seat{Engine: engine, State: state,
				NextHop: netip.MustParseAddr("10.1.0.11")})
		}
		compiled, _ := compilerOf(m, nil, place.Assignments(nil).With([]place.Assignment{assignment})).
			Compile(engineUUID, nil)
		for _, resource := range compiled.GetResources() {
			if vs := resource.GetVirtualService(); vs != nil {
				seeds[vs.GetKeySeed()] = true
				if isShared := slices.Contains(others, place.Serving); (vs.GetEngines() == 2) != isShared {
					t.Errorf("with %v, %d engines share the limit", others, vs.GetEngines())
				}
			}
		}
	}
	if len(seeds) != 1 || seeds[0] {
		t.Errorf("the seeds are %v", seeds)
	}
}

func TestSeedOfKeysFollowsFromTheSecretAndTheVirtualService(t *testing.T) {
	secret, other := []byte("secret"), []byte("other")
	if seed := keySeed(secret, "a"); seed != keySeed(secret, "a") || seed == keySeed(secret, "b") ||
		seed == keySeed(other, "a") {
		t.Errorf("the seed is %d", seed)
	}
}
