package autoscale

import (
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

// The kinds of object that this package reads.
const (
	policyKind  = "serverautoscalepolicy"
	launchKind  = "autoscalelaunchconfig"
	webhookKind = "webhook"
	alertKind   = "alert"
	ruleKind    = "alertconfig"
)

// see collects what is known of a pool. What operators want is from the store, because the fleet hears of it later.
func (w *Watch) see(pool *scaled, alarms func() alarms) sight {
	seen := sight{limit: int(pool.MaxConnectionsPerServer), needed: int(pool.MinServersUp),
		grace: time.Duration(pool.GracefulDisableMin) * time.Minute,
		bound: pool.ServerDisableType == "ALLOW_NEW_CONNECTION_IF_PERSISTENCE_PRESENT"}
	at, named := map[string]int{}, false
	for i := range pool.Servers {
		one := &pool.Servers[i]
		if !one.IP.Address().IsValid() || one.ResolveByDNS {
			named = true
			continue
		}
		id := one.ID(pool.DefaultServerPort)
		at[id] = len(seen.servers)
		seen.servers = append(seen.servers, server{id: id, key: one.ID(0), enabled: pool.Enabled &&
			one.Enabled, fixed: true})
	}
	about, isPlanned := map[string]bool{pool.UUID: true}, true
	w.config.Fleet.Read(func(known *fleet.Known) {
		of := known.Pool(pool.UUID)
		if of == nil {
			isPlanned = false
			return
		}
		seen.engines, seen.unheard = known.EnginesWith(of), known.Unheard(of)
		for vs := range known.Users(of) {
			about[vs.UUID] = true
		}
		state := known.PoolHealth(of)
		for i, member := range of.Members {
			place, has := at[member.ID]
			switch {
			case !has && (!named || member.OfGroup):
				continue // it is removed already, or no server of the policy's
			case !has:
				place = len(seen.servers)
				seen.servers = append(seen.servers, server{id: member.ID, key: member.ID,
					enabled: pool.Enabled && member.Enabled})
			}
			isPlanned = isPlanned && (pool.Enabled && member.Enabled) == seen.servers[place].enabled
			seen.servers[place].up = state.Servers[i].State == health.Up
			seen.servers[place].open = known.OpenTo(fleet.ServerKey{Pool: of.UUID, Server: member.ID})
		}
	})
	memory, now := w.remembers(pool.UUID), w.config.Now()
	seen.peak, seen.fewest, seen.isWatched = memory.note(seen.open(), seen.engines, now)
	seen.heard = memory.hear(isPlanned && len(seen.unheard) == 0, now)
	if by := pool.policy; len(by.OutRuleRefs)+len(by.InRuleRefs) > 0 {
		seen.out, seen.in = alarms().about(about, by.OutRuleRefs), alarms().about(about, by.InRuleRefs)
	}
	return seen
}

// alarms are the alerts that fire, by the uuid of their rule.
type alarms map[string][]firingAlert

type firingAlert struct {
	alarm
	object string // uuid
}

// alarmsIn reads the alerts of a view. One that an operator has dismissed or silenced scales nothing.
func alarmsIn(view *store.View) alarms {
	all := alarms{}
	for _, record := range view.List(alertKind) {
		if record.Object["weir_condition"] != "FIRING" {
			continue
		}
		alert, err := schema.Into[kinds.Alert](record.Object)
		if err != nil || alert.State == "ALERT_STATE_DISMISSED" || alert.SilencedWhy != "" {
			continue
		}
		rule := schema.UUIDOf(ruleKind, alert.ConfigRef)
		all[rule] = append(all[rule], firingAlert{
			object: alert.ObjectUUID,
			alarm: alarm{name: record.Name, reason: alert.Reason, lasts: alert.MetricID != "" || isRolling(view, rule),
				at: time.UnixMilli(int64(1000 * max(alert.Timestamp, alert.LastThrottle)))},
		})
	}
	return all
}

// isRolling tells whether the alerts of a rule last for as long as something happens often enough.
func isRolling(view *store.View, rule string) bool {
	record, found := view.Get(ruleKind, rule)
	return found && record.Object["category"] == "ROLLINGWINDOW"
}

// about are the alerts of some rules about some objects.
func (a alarms) about(objects map[string]bool, ruleRefs []string) (found []alarm) {
	for _, ref := range ruleRefs {
		for _, each := range a[schema.UUIDOf(ruleKind, ref)] {
			if objects[each.object] {
				found = append(found, each.alarm)
			}
		}
	}
	return found
}
