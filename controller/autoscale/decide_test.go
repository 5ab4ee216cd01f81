package autoscale

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// yard is a pool that a story is about. Its lines change it:
//
//	open 10 20          connections of its servers, in order
//	down a / up a       a server
//	alert out lasts     an alert fires, for as long as its cause lasts, or "once"
//	calm                no alert fires
//	engines 4           so many serve with the pool, and "fewest 2" did in the last minute
//	needs 3             min_servers_up of the pool
//	away one / back     an engine may not have heard of disabled servers
//	endless             a disabled server may take as long as it needs
//	taken / refused / lost  the webhook says about the order that it is asked for
//	come d              a server is added; gone a: one is removed
//	enable a            somebody enables a server
//	peak 90             the most connections of the last minute
//	unwatched           the leader has just begun
//	between             the webhook is asked, has taken nothing, and no request is under way
//	between, unsure     it may have taken a request
//	port                the pool has another port
//	unserved            nobody can be asked any more: the controller ends the orders
//	wait 5m             time passes
//	look: EVENT text    the controller looks, and tells these events
//	rest: reason        it looks, tells nothing, and says why
type yard struct {
	*testing.T
	state State
	seen  sight
	now   time.Time

	decide func(State, *kinds.ServerAutoScalePolicy, sight, time.Time) decision
}

var stories = []struct{ name, policy, story string }{
	{"grows by its load up to its largest size",
		`"intelligent_autoscale":true,"max_size":4,"max_scaleout_adjustment_step":2`, `
		open 60 60 60
		rest: its servers have 180 connections and take 300, which is 66 % more
		open 90 90 90
		look: OUT_TRIGGERED the webhook is asked for 1 server more: its servers have 270 connections and take 300, which is 11 % more, and intelligent_scaleout_margin is 20 %
		rest: 20 %. The webhook is asked for 1 server already
		taken
		look: OUT the webhook takes the order for 1 server: 202
		come d
		look: OUT_COMPLETE the pool has 1 server more
		open 130 130 130 10
		rest: scaleout_cooldown lasts until 12:05:00
		wait 5m
		rest: The pool has 4 servers already, and max_size is 4`},
	{"asks for as many as its load needs, a step at most",
		`"intelligent_autoscale":true,"max_scaleout_adjustment_step":5`, `
		open 200 200 200
		look: OUT_TRIGGERED the webhook is asked for 5 servers more: its servers have 600 connections and take 300, which is -50 % more, and intelligent_scaleout_margin is 20 %`},
	{"shrinks by its load, and keeps a margin", `"intelligent_autoscale":true,"min_size":1`, `
		open 70 60 40
		rest: which is 76 % more
		open 70 30 20
		look: IN_TRIGGERED disables c, to be removed: its servers had at most 120 connections in the last minute and take 300, which is 150 % more, and intelligent_scalein_margin is 40 %
		wait 10s
		rest: take 200
		open 80 30 0
		rest: take 200
		wait 5s
		look:
		taken
		look: IN the webhook takes the order to remove c: 202
		gone c
		look: IN_COMPLETE the pool has 1 server fewer
		open 0 0
		rest: scalein_cooldown lasts until 12:05:00
		wait 5m
		look: IN_TRIGGERED disables b, to be removed: its servers had at most 0 connections in the last minute and take 200, which is 20000 % more, and intelligent_scalein_margin is 40 %`},
	{"keeps its smallest size, and one server in any case",
		`"scalein_alertconfig_refs":["/api/alertconfig/in"],"min_size":3`, `
		alert in lasts
		rest: alert in-1 fires: few requests. 3 of its servers are up, and at least 3 stay`},
	{"does not shrink after one moment without load", `"intelligent_autoscale":true`, `
		unwatched
		open 0 0 0
		rest: Servers leave when it has been watched for a minute
		watched
		peak 180
		rest: its servers have 0 connections and take 300, which is 30000 % more
		peak 120
		look: IN_TRIGGERED disables c, to be removed: its servers had at most 120 connections in the last minute and take 300, which is 150 % more, and intelligent_scalein_margin is 40 %`},
	{"keeps as many servers as its pool needs", `"intelligent_autoscale":true`, `
		needs 3
		open 0 0 0
		rest: 3 of its servers are up, and at least 3 stay, as min_servers_up of the pool says
		needs 2
		look: IN_TRIGGERED disables c, to be removed: its servers had at most 0 connections in the last minute and take 300, which is 30000 % more, and intelligent_scalein_margin is 40 %`},
	{"does not shrink because it is on more engines for a moment", `"intelligent_autoscale":true`, `
		open 60 55 50
		rest: its servers have 165 connections and take 300, which is 81 % more
		engines 4
		rest: its servers have 165 connections and take 600, which is 263 % more`},
	{"does not shrink because its servers are down", `"intelligent_autoscale":true,"min_size":1`, `
		down a
		down b
		open 0 0 0
		rest: take 100
		down c
		rest: no server is up`},
	{"has its servers finish what they have, until their time is over",
		`"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		alert in lasts
		open 9 9 9
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		wait 60s
		rest: An order to remove c is under way
		wait 15s
		look:
		taken
		look: IN the webhook takes the order to remove c: 202`},
	{"waits for bound clients until the time of a disabled server is over",
		`"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		bound
		alert in lasts
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		wait 60s
		refused
		rest: under way
		wait 15s
		look:
		taken
		look: IN the webhook takes the order to remove c: 202`},
	{"waits for engines that may not have heard", `"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		endless
		alert in lasts
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		away two
		wait 1h
		rest: c may still have clients on engines that have not heard of it: two
		back
		wait 5s
		rest: under way
		wait 5s
		look:
		taken
		look: IN the webhook takes the order to remove c: 202`},
	{"waits for nobody where no engine serves with the pool any more",
		`"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		endless
		alert in lasts
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		engines 0
		wait 15s
		look:
		taken
		look: IN the webhook takes the order to remove c: 202`},
	{"waits for engines that are away no longer than a disabled server may finish",
		`"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		alert in lasts
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		away two
		wait 74s
		refused
		rest: under way
		wait 1s
		look:
		taken
		look: IN the webhook takes the order to remove c: 202`},
	{"gets its own server back when the webhook refuses to remove it", `"intelligent_autoscale":true`, `
		open 5 5 0
		look: IN_TRIGGERED disables c, to be removed: its servers had at most 10 connections in the last minute and take 300, which is 2900 % more, and intelligent_scalein_margin is 40 %
		wait 15s
		look:
		refused
		look: IN_FAILED the webhook does not take the order to remove c in 5 tries: 503. It is asked again
		open 90 90 0
		look: IN_FAILED called off, enables c again: its servers have 180 connections and take 200, which is 11 % more, and intelligent_scaleout_margin is 20 %`},
	{"gets another server when the webhook may remove its own", `"intelligent_autoscale":true`, `
		open 5 5 0
		look: IN_TRIGGERED disables c, to be removed: its servers had at most 10 connections in the last minute and take 300, which is 2900 % more, and intelligent_scalein_margin is 40 %
		wait 15s
		look:
		lost
		look: IN_FAILED the webhook does not take the order to remove c in 5 tries: timeout. It is asked again
		open 90 90 0
		look: OUT_TRIGGERED the webhook is asked for 1 server more: its servers have 180 connections and take 200, which is 11 % more, and intelligent_scaleout_margin is 20 %. c stays disabled, because the webhook may have taken the order to remove it`},
	{"calls a removal off that the webhook is asked for and has not taken", `"intelligent_autoscale":true`, `
		open 5 5 0
		look: IN_TRIGGERED disables c, to be removed: its servers had at most 10 connections in the last minute and take 300, which is 2900 % more, and intelligent_scalein_margin is 40 %
		wait 15s
		look:
		between
		open 90 90 0
		look: IN_FAILED called off, enables c again: its servers have 180 connections and take 200, which is 11 % more, and intelligent_scaleout_margin is 20 %
		open 99 99 99
		rest: scaleout_cooldown lasts until 12:05:15`},
	{"gets another server when the webhook is asked again for a removal that it has taken",
		`"intelligent_autoscale":true,"scalein_cooldown":60`, `
		open 5 5 0
		look: IN_TRIGGERED disables c, to be removed: its servers had at most 10 connections in the last minute and take 300, which is 2900 % more, and intelligent_scalein_margin is 40 %
		wait 15s
		look:
		taken
		look: IN the webhook takes the order to remove c: 202
		wait 60s
		look: IN_FAILED the pool still has c after 1m0s. The webhook is asked again
		wait 60s
		look:
		between
		open 90 90 0
		look: OUT_TRIGGERED the webhook is asked for 1 server more: its servers have 180 connections and take 200, which is 11 % more, and intelligent_scaleout_margin is 20 %`},
	{"calls a removal off that the webhook is asked for when somebody enables the server",
		`"scalein_alertconfig_refs":["/api/alertconfig/in"],"max_scalein_adjustment_step":2`, `
		alert in lasts
		look: IN_TRIGGERED disables c, b, to be removed: alert in-1 fires: few requests
		wait 15s
		look:
		enable c
		rest: An order to remove c, b is under way
		between
		rest: An order to remove b is under way
		calm
		enable b
		look: IN_FAILED called off: somebody has enabled b again`},
	{"follows a removal that the webhook has taken when somebody enables the server",
		`"scalein_alertconfig_refs":["/api/alertconfig/in"],"scalein_cooldown":60`, `
		alert in lasts
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		calm
		wait 15s
		look:
		taken
		look: IN the webhook takes the order to remove c: 202
		enable c
		look: IN_FAILED somebody has enabled c again, and the webhook may have taken the order to remove it
		rest: no alert
		wait 60s
		look: IN_FAILED the pool still has c after 1m0s. The webhook is asked again
		look: IN_FAILED called off: somebody has enabled c again. The webhook may have taken the order to remove it`},
	{"asks for the removal of nothing", `"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		alert in lasts
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		wait 15s
		look:
		between, unsure
		gone c
		look: IN_COMPLETE the pool has 1 server fewer`},
	{"counts servers that left, and not those that somebody enabled",
		`"scalein_alertconfig_refs":["/api/alertconfig/in"],"max_scalein_adjustment_step":2`, `
		alert in lasts
		look: IN_TRIGGERED disables c, b, to be removed: alert in-1 fires: few requests
		enable b
		rest: An order to remove c is under way
		gone c
		look: IN_COMPLETE the pool has 1 server fewer`},
	{"enables its servers when nobody can be asked any more", `"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		alert in lasts
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		unserved
		look: IN_FAILED called off, enables c again: nobody can be asked for servers: the pool needs an autoscale_launch_config_ref with a weir_webhook_ref
		rest: nobody can be asked for servers`},
	{"tells when nobody can be asked any more", `"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		alert in lasts
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		wait 15s
		look:
		taken
		look: IN the webhook takes the order to remove c: 202
		unserved
		look: IN_FAILED nobody can be asked for servers: the pool needs an autoscale_launch_config_ref with a weir_webhook_ref, and the webhook may have taken the order to remove c. Nobody follows it
		rest: nobody can be asked for servers`},
	{"knows its servers when the port of the pool changes", `"scalein_alertconfig_refs":["/api/alertconfig/in"],
		"scaleout_alertconfig_refs":["/api/alertconfig/out"],"scalein_cooldown":0`, `
		alert in lasts
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		port
		rest: An order to remove c' is under way
		alert out lasts
		look: IN_FAILED called off, enables c' again: alert out-1 fires: many requests
		wait 5m
		look: OUT_TRIGGERED the webhook is asked for 1 server more: alert out-1 fires: many requests
		taken
		look: OUT the webhook takes the order for 1 server: 202
		port
		rest: The webhook is asked for 1 server already`},
	{"counts an event once if it calls a removal off", `"scaleout_alertconfig_refs":["/api/alertconfig/out"],
		"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		alert in once
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		wait 1s
		alert out once
		look: IN_FAILED called off, enables c again: alert out-1 fires: many requests
		wait 5s
		rest: no alert of its rules fires`},
	{"calls a removal off when load rises as its servers have finished", `"intelligent_autoscale":true`, `
		open 5 5 0
		look: IN_TRIGGERED disables c, to be removed: its servers had at most 10 connections in the last minute and take 300, which is 2900 % more, and intelligent_scalein_margin is 40 %
		wait 15s
		open 90 90 0
		look: IN_FAILED called off, enables c again: its servers have 180 connections and take 200, which is 11 % more, and intelligent_scaleout_margin is 20 %`},
	{"goes on when the clock was ahead and is set right", `"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		alert in lasts
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		wait -24h
		back
		rest: under way
		wait 15s
		look:
		taken
		look: IN the webhook takes the order to remove c: 202`},
	{"calls a removal off when load rises", `"intelligent_autoscale":true`, `
		open 5 5 5
		look: IN_TRIGGERED disables c, to be removed: its servers had at most 15 connections in the last minute and take 300, which is 1900 % more, and intelligent_scalein_margin is 40 %
		open 90 90 0
		look: IN_FAILED called off, enables c again: its servers have 180 connections and take 200, which is 11 % more, and intelligent_scaleout_margin is 20 %
		rest: which is 66 % more
		wait 5m
		open 99 99 99
		look: OUT_TRIGGERED the webhook is asked for 1 server more: its servers have 297 connections and take 300, which is 1 % more, and intelligent_scaleout_margin is 20 %`},
	{"calls a removal off when somebody enables the server", `"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		alert in lasts
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		enable c
		calm
		look: IN_FAILED called off: somebody has enabled c again`},
	{"tells when no server comes, and asks again", `"scaleout_alertconfig_refs":["/api/alertconfig/out"]`, `
		alert out lasts
		look: OUT_TRIGGERED the webhook is asked for 1 server more: alert out-1 fires: many requests
		taken
		look: OUT the webhook takes the order for 1 server: 202
		wait 299s
		rest: The webhook is asked for 1 server already
		wait 1s
		look: OUT_FAILED the webhook was asked for 1 server, and 0 came within 5m0s
		wait 1m
		look: OUT_TRIGGERED the webhook is asked for 1 server more: alert out-1 fires: many requests`},
	{"tells when the webhook refuses, and asks again after the cooldown",
		`"scaleout_alertconfig_refs":["/api/alertconfig/out"],"scaleout_cooldown":60`, `
		alert out lasts
		look: OUT_TRIGGERED the webhook is asked for 1 server more: alert out-1 fires: many requests
		refused
		look: OUT_FAILED the webhook does not take the order for 1 server in 5 tries: 503
		rest: scaleout_cooldown lasts until 12:01:00
		wait 1m
		look: OUT_TRIGGERED the webhook is asked for 1 server more: alert out-1 fires: many requests`},
	{"asks again for a removal that the webhook refused",
		`"scalein_alertconfig_refs":["/api/alertconfig/in"],"scalein_cooldown":60`, `
		alert in lasts
		look: IN_TRIGGERED disables c, to be removed: alert in-1 fires: few requests
		wait 75s
		look:
		refused
		look: IN_FAILED the webhook does not take the order to remove c in 5 tries: 503. It is asked again
		rest: An order to remove c is under way
		wait 60s
		look:
		taken
		look: IN the webhook takes the order to remove c: 202
		wait 60s
		look: IN_FAILED the pool still has c after 1m0s. The webhook is asked again
		calm
		gone c
		look: IN_COMPLETE the pool has 1 server fewer`},
	{"counts an event once", `"scaleout_alertconfig_refs":["/api/alertconfig/out"],"scaleout_cooldown":60`, `
		alert out once
		look: OUT_TRIGGERED the webhook is asked for 1 server more: alert out-1 fires: many requests
		taken
		look: OUT the webhook takes the order for 1 server: 202
		come d
		look: OUT_COMPLETE the pool has 1 server more
		wait 2m
		rest: no alert of its rules fires
		alert out once
		look: OUT_TRIGGERED the webhook is asked for 1 server more: alert out-1 fires: many requests`},
	{"grows when alerts say both", `"scaleout_alertconfig_refs":["/api/alertconfig/out"],
		"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		alert in lasts
		alert out lasts
		look: OUT_TRIGGERED the webhook is asked for 1 server more: alert out-1 fires: many requests`},
	{"does not shrink while it waits for servers, and soon after",
		`"scaleout_alertconfig_refs":["/api/alertconfig/out"],
		"scalein_alertconfig_refs":["/api/alertconfig/in"],"scalein_cooldown":60`, `
		alert out lasts
		look: OUT_TRIGGERED the webhook is asked for 1 server more: alert out-1 fires: many requests
		calm
		alert in lasts
		rest: The pool still waits for 1 server
		taken
		look: OUT the webhook takes the order for 1 server: 202
		come d
		look: OUT_COMPLETE the pool has 1 server more
		rest: scalein_cooldown lasts until 12:01:00
		wait 60s
		look: IN_TRIGGERED disables d, to be removed: alert in-1 fires: few requests`},
	{"has as many servers as its schedule says, until that is over",
		`"max_size":6,"scaleout_cooldown":60,"scalein_cooldown":60,
		"scalein_alertconfig_refs":["/api/alertconfig/in"],"scheduled_scalings":[{"cron_expression":"0 12 * * *",
		"desired_capacity":5,"schedule_max_step":2}]`, `
		alert in lasts
		look: OUT_TRIGGERED the webhook is asked for 2 servers more: by its schedule it has 5 servers until 13:00:00
		taken
		look: OUT the webhook takes the order for 2 servers: 202
		come d
		come e
		look: OUT_COMPLETE the pool has 2 servers more
		come f
		wait 60s
		look: IN_TRIGGERED disables f, to be removed: by its schedule it has 5 servers until 13:00:00
		wait 15s
		look:
		taken
		look: IN the webhook takes the order to remove f: 202
		gone f
		look: IN_COMPLETE the pool has 1 server fewer
		wait 1h
		look: IN_TRIGGERED disables e, to be removed: alert in-1 fires: few requests`},
	{"gets more than its schedule says if it needs them", `"intelligent_autoscale":true,"scheduled_scalings":[
		{"cron_expression":"0 12 * * *","desired_capacity":2,"schedule_max_step":0}]`, `
		open 80 80 79
		rest: by its schedule it has 2 servers until 13:00:00
		open 99 99 99
		look: OUT_TRIGGERED the webhook is asked for 1 server more: its servers have 297 connections and take 300, which is 1 % more, and intelligent_scaleout_margin is 20 %`},
	{"has no load without a limit of connections", `"intelligent_autoscale":true`, `
		unlimited
		rest: intelligent_autoscale needs max_concurrent_connections_per_server of the pool`},
	{"removes no server that follows from a name", `"scalein_alertconfig_refs":["/api/alertconfig/in"]`, `
		alert in lasts
		named
		rest: those of names are not disabled`},
}

func TestPoolScales(t *testing.T) {
	for _, each := range stories {
		t.Run(each.name, func(t *testing.T) {
			policy := policyOf(t, each.policy)
			y := &yard{T: t, decide: decide, state: State{UUID: "pool-1"},
				now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
			y.seen = sight{engines: 2, fewest: 2, limit: 50, heard: y.now.Add(-time.Hour), grace: time.Minute,
				isWatched: true, outcomes: map[string]outcome{}}
			for _, id := range []string{"a", "b", "c"} {
				y.seen.servers = append(y.seen.servers, server{id: id, key: id, enabled: true, up: true, fixed: true})
			}
			for line := range strings.Lines(each.story) {
				if line = strings.TrimSpace(line); line != "" {
					y.do(policy, line)
				}
			}
		})
	}
}

func policyOf(t *testing.T, fields string) *kinds.ServerAutoScalePolicy {
	t.Helper()
	kind, _ := schema.Lookup(policyKind)
	object, err := kind.Decode([]byte(`{"name":"p",` + fields + `}`))
	if err != nil {
		t.Fatal(err)
	}
	kind.Fill(object)
	if problem := kind.Check(object); problem != nil {
		t.Fatal(problem)
	}
	policy, err := schema.Into[kinds.ServerAutoScalePolicy](object)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func (y *yard) do(policy *kinds.ServerAutoScalePolicy, line string) {
	y.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	switch words := strings.Fields(rest); verb {
	case "open":
		for i, word := range words {
			y.seen.servers[i].open, _ = strconv.Atoi(word)
		}
	case "up", "down":
		y.server(rest).up = verb == "up"
	case "enable":
		y.server(rest).enabled = true
	case "alert":
		if words[0] == "out" {
			y.seen.out = []alarm{{"out-1", "many requests", y.now, words[1] == "lasts"}}
		} else {
			y.seen.in = []alarm{{"in-1", "few requests", y.now, words[1] == "lasts"}}
		}
	case "calm":
		y.seen.out, y.seen.in = nil, nil
	case "engines":
		y.seen.engines, _ = strconv.Atoi(rest)
	case "needs":
		y.seen.needed, _ = strconv.Atoi(rest)
	case "away":
		y.seen.unheard, y.seen.heard = []string{rest}, time.Time{}
	case "back":
		y.seen.unheard, y.seen.heard = nil, y.now
	case "endless":
		y.seen.grace = -time.Minute
	case "taken", "refused", "lost":
		for _, order := range []*Order{y.state.Out, y.state.In} {
			if order != nil && order.Phase == Asking {
				said := outcome{taken: true, tries: 1, answer: "202"}
				switch verb {
				case "refused":
					said = outcome{tries: 5, answer: "503"}
				case "lost":
					said = outcome{tries: 5, open: true, answer: "timeout"}
				}
				y.seen.outcomes[order.ID] = said
			}
		}
	case "come":
		y.seen.servers = append(y.seen.servers, server{id: rest, key: rest, enabled: true, up: true, fixed: true})
	case "between", "between,":
		y.seen.isHeld, y.seen.isFree = true, rest == ""
	case "port":
		for i := range y.seen.servers {
			y.seen.servers[i].id += "'"
		}
	case "unserved":
		y.decide = func(state State, _ *kinds.ServerAutoScalePolicy, seen sight, now time.Time) decision {
			return abandon(state, seen, now)
		}
	case "gone":
		y.seen.servers = slices.DeleteFunc(y.seen.servers, func(s server) bool { return s.id == rest })
	case "wait":
		length, err := time.ParseDuration(rest)
		if err != nil {
			y.Fatal(err)
		}
		y.now = y.now.Add(length)
	case "peak":
		y.seen.peak, _ = strconv.Atoi(rest)
	case "unwatched", "watched":
		y.seen.isWatched = verb == "watched"
	case "unlimited":
		y.seen.limit = 0
	case "bound":
		y.seen.bound = true
	case "named":
		for i := range y.seen.servers {
			y.seen.servers[i].fixed = false
		}
	case "look:", "rest:":
		y.look(policy, verb, rest)
	default:
		y.Fatalf("no story has %q", line)
	}
}

func (y *yard) server(id string) *server {
	return &y.seen.servers[slices.IndexFunc(y.seen.servers, func(s server) bool { return s.id == id })]
}

func (y *yard) look(policy *kinds.ServerAutoScalePolicy, verb, want string) {
	y.Helper()
	before, outcomes := y.state, maps.Clone(y.seen.outcomes)
	d := y.decide(y.state, policy, y.seen, y.now)
	for _, id := range d.enable {
		y.server(id).enabled = true
	}
	for _, id := range d.disable {
		y.server(id).enabled = false
	}
	var told []string
	for _, each := range d.told {
		told = append(told, strings.TrimPrefix(each.id, "SERVER_AUTOSCALE_")+" "+each.message)
	}
	got := strings.Join(told, " | ")
	if verb == "rest:" && (got != "" || !strings.Contains(d.reason, want)) || verb == "look:" && got != want {
		y.Errorf("%s %s\ntold   %s\nreason %s\nstate  %s %s", verb, want, got, d.reason, show(d.Out), show(d.In))
	}
	if len(d.told) > 0 && d.State.equal(before) {
		y.Errorf("%q is told and not stored", got)
	}
	if !maps.Equal(outcomes, y.seen.outcomes) {
		y.Error("the decision changes what it sees")
	}
	y.state = d.State
}

func show(order *Order) string {
	if order == nil {
		return "none"
	}
	return fmt.Sprintf("%+v", *order)
}
