package fleet

import (
	"maps"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
)

// scaleOf says on how many engines a virtual service shall be and is, what is under way, and what came to nothing.
func (f *Fleet) scaleOf(vs *model.VirtualService, assignment place.Assignment) schema.Object {
	scale := schema.Object{
		"num_se_requested": int64(0), "num_se_assigned": int64(0),
		"scaleout_in_progress": false, "scalein_in_progress": false, "migrate_in_progress": false,
	}
	if vs.Group != nil && vs.Enabled && vs.TrafficEnabled {
		scale["num_se_requested"] = int64(place.Wanted(vs, assignment))
	}
	assigned := int64(0)
	for _, seat := range assignment.Seats {
		switch seat.State {
		case place.Draining, place.Standby:
		default:
			assigned++
		}
		if doing := f.underWay(seat); doing != "" {
			scale[doing] = true
		}
	}
	scale["num_se_assigned"] = assigned
	if failure := assignment.CalledOff; failure != nil {
		scale["last_scale_status"] = schema.Object{
			"state": scaleErrors[failure.Event], "action_success": false, "reason": []any{failure.Why},
			"end_time_str": failure.At.UTC().Format(time.RFC3339),
		}
	}
	return scale
}

// scaleErrors are Avi's states of orders that failed, by event. A switchover moves a virtual service to its standby.
var scaleErrors = map[string]string{
	"VS_SCALEOUT_FAILED": "SCALEOUT_ERROR", "VS_MIGRATE_FAILED": "MIGRATE_ERROR", "VS_SWITCHOVER_FAIL": "MIGRATE_ERROR",
}

// underWay names what a seat shows to be in progress; empty: nothing. An engine that is away lets go of nothing, and after
// a failure nothing was ordered.
func (f *Fleet) underWay(seat place.Seat) string {
	comes, goes := seat.State == place.Starting, seat.State == place.Leaving || seat.State == place.Draining
	engine := f.engines[seat.Engine]
	switch {
	case !comes && !goes, goes && (engine == nil || !engine.works()):
		return ""
	case seat.Cause == place.Migrate, seat.Cause == place.Disabled, seat.Cause == place.Switchover:
		return "migrate_in_progress"
	case comes:
		return "scaleout_in_progress"
	case seat.Cause == place.ScaleIn:
		return "scalein_in_progress"
	default:
		return ""
	}
}

// serviceEngines lists the engines of a virtual service in the shape of Avi's inventory.
func (f *Fleet) serviceEngines(uuid string, assignment place.Assignment) []any {
	list := []any{}
	shares := f.connectionShares(uuid, assignment)
	for i, seat := range assignment.Seats {
		engine := f.engines[seat.Engine]
		status := operStatus("OPER_UP")
		vs := f.services[uuid]
		if engine == nil || !engine.works() || engine.cutOff(vs) != "" || !engine.serves(uuid) && seat.State != place.Standby {
			status = operStatus("OPER_DOWN", engine.whyNot(vs))
		}
		primary, standby := i == 0 && seat.State != place.Standby, seat.State == place.Standby
		shown := schema.Object{
			"name": f.name(seat.Engine), "uuid": seat.Engine, "url": schema.RefPath(engineKind, seat.Engine),
			"se_ref":  schema.RefPath(engineKind, seat.Engine),
			"primary": primary, "standby": standby, "is_primary": primary, "is_standby": standby, "sec_idx": int64(i),
			"role": role(primary, standby), "state": strings.ToLower(string(seat.State)), "cause": string(seat.Cause),
			"since":     seat.Since.UTC().Format(time.RFC3339),
			"connected": engine != nil && engine.connected, "active_on_se": status["state"] == "OPER_UP" && !standby,
			"applied": engine != nil && engine.hasApplied(uuid), "oper_status": status,
			"advertised":           engine != nil && engine.announces(uuid) && engine.cutOff(vs) == "",
			"scaleout_in_progress": f.underWay(seat) == "scaleout_in_progress",
			"scalein_in_progress":  f.underWay(seat) == "scalein_in_progress",
			"migrate_in_progress":  f.underWay(seat) == "migrate_in_progress",
		}
		if share, known := shares[seat.Engine]; known {
			shown["connections_percent"] = share
		}
		list = append(list, shown)
	}
	return list
}

func role(primary, standby bool) string {
	switch {
	case standby:
		return "standby"
	case primary:
		return "primary"
	default:
		return "secondary"
	}
}

// connectionShares is which part of the new connections came to each engine between the last two samples, in percent; of
// all connections so far where none was new. Engines that do not work have none: what they said last is of the past.
func (f *Fleet) connectionShares(uuid string, assignment place.Assignment) map[string]int64 {
	recent, total := map[string]uint64{}, map[string]uint64{}
	var recentSum, totalSum uint64
	for _, seat := range assignment.Seats {
		engine := f.engines[seat.Engine]
		if engine == nil || !engine.works() || engine.sample.service(uuid) == nil {
			continue
		}
		now, then := engine.sample.service(uuid).GetConnectionsTotal(), engine.earlier.service(uuid).GetConnectionsTotal()
		total[seat.Engine], recent[seat.Engine] = now, now-min(then, now)
		totalSum, recentSum = totalSum+now, recentSum+recent[seat.Engine]
	}
	counts, sum := recent, recentSum
	if sum == 0 {
		counts, sum = total, totalSum
	}
	shares := map[string]int64{}
	for engine, count := range counts {
		if sum > 0 {
			shares[engine] = int64((200*count + sum) / (2 * sum))
		}
	}
	return shares
}

type vipViews struct{ runtime, summary []any }

// vips repeats the engines for each address, as Avi does.
func (f *Fleet) vips(vs *model.VirtualService, assignment place.Assignment, engines []any, percent int64) vipViews {
	views := vipViews{runtime: []any{}, summary: []any{}}
	scale := f.scaleOf(vs, assignment)
	standby := int64(0)
	for _, seat := range assignment.Seats {
		if seat.State == place.Standby {
			standby++
		}
	}
	status := operStatus("OPER_UP")
	if len(f.serving(vs.UUID, f.assigned(vs.UUID))) == 0 {
		status = operStatus("OPER_DOWN")
	}
	for _, vip := range vs.Vips {
		views.runtime = append(views.runtime, schema.Object{
			"vip_id": vip.VipID, "se_list": engines, "num_additional_se": int64(0),
			"requested_resource": schema.Object{"num_se": scale["num_se_requested"], "num_standby_se": standby},
		})
		summary := schema.Object{"vip_id": vip.VipID, "oper_status": status, "percent_ses_up": percent, "service_engine": engines}
		maps.Copy(summary, scale)
		views.summary = append(views.summary, summary)
	}
	return views
}
