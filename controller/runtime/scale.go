package runtime

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
)

// scale says on how many engines a virtual service should be and is, what is in progress, and which order failed.
func (s service) scale() schema.Object {
	scale := schema.Object{
		"num_se_requested": int64(0), "num_se_assigned": int64(0),
		"scaleout_in_progress": false, "scalein_in_progress": false, "migrate_in_progress": false,
	}
	if s.vs.Group != nil && s.vs.Enabled && s.vs.TrafficEnabled {
		scale["num_se_requested"] = int64(place.Wanted(s.vs, s.assignment))
	}
	assigned := int64(0)
	for _, seat := range s.assignment.Seats {
		switch seat.State {
		case place.Draining, place.Stopped, place.Standby:
		default:
			assigned++
		}
		if doing := s.underWay(seat); doing != "" {
			scale[doing] = true
		}
	}
	scale["num_se_assigned"] = assigned
	if failure := s.assignment.CalledOff; failure != nil {
		scale["last_scale_status"] = schema.Object{
			"state": scaleErrors[failure.Event], "action_success": false, "reason": []any{failure.Why},
			"end_time_str": second(failure.At),
		}
	}
	return scale
}

// scaleErrors are Avi's states of orders that failed, by event id. A switchover moves a virtual service to its standby.
var scaleErrors = map[string]string{
	"VS_SCALEOUT_FAILED": "SCALEOUT_ERROR", "VS_MIGRATE_FAILED": "MIGRATE_ERROR", "VS_SWITCHOVER_FAIL": "MIGRATE_ERROR",
}

// underWay names what is in progress on a seat; empty: nothing. An engine that should let go of a virtual service but
// is away shows nothing, and so does a seat that changes because of a failure: there was no order.
func (s service) underWay(seat place.Seat) string {
	comes := seat.State == place.Starting
	goes := slices.Contains([]place.SeatState{place.Leaving, place.Draining, place.Stopped}, seat.State)
	switch {
	case !comes && !goes, goes && !s.known.Engine(seat.Engine).Works():
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

// engines returns the engines of a virtual service in the shape of Avi's inventory.
func (s service) engines() []any {
	list := []any{}
	shares := s.connectionShares()
	for i, seat := range s.assignment.Seats {
		shown := s.engine(seat, i)
		if share, known := shares[seat.Engine]; known {
			shown["connections_percent"] = share
		}
		list = append(list, shown)
	}
	return list
}

func (s service) engine(seat place.Seat, index int) schema.Object {
	engine := s.known.Engine(seat.Engine)
	primary, standby := index == 0 && seat.State != place.Standby, seat.State == place.Standby
	active := engine.Works() && engine.CutOff(s.vs) == "" && (engine.Serves(s.vs.UUID) || standby)
	status := operStatus(health.Up)
	if !active {
		status = operStatus(health.Down, engine.WhyNot(s.vs))
	}
	doing := s.underWay(seat)
	return schema.Object{
		"name": s.known.Name(seat.Engine), "uuid": seat.Engine, "url": schema.RefPath(engineKind, seat.Engine),
		"se_ref":  schema.RefPath(engineKind, seat.Engine),
		"primary": primary, "standby": standby, "is_primary": primary, "is_standby": standby, "sec_idx": int64(index),
		"role": role(primary, standby), "state": strings.ToLower(string(seat.State)), "cause": string(seat.Cause),
		"since":     second(seat.Since),
		"connected": engine.IsConnected(), "active_on_se": active && !standby,
		"applied": engine.HasApplied(s.vs.UUID), "oper_status": status,
		"advertised":           engine.Announces(s.vs.UUID) && engine.CutOff(s.vs) == "",
		"scaleout_in_progress": doing == "scaleout_in_progress",
		"scalein_in_progress":  doing == "scalein_in_progress",
		"migrate_in_progress":  doing == "migrate_in_progress",
	}
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

// connectionShares returns the share of each engine in the new connections between the last two samples, in percent. If
// there were none, it is the share in all connections so far. Engines that do not work have no share: their last
// samples are old.
func (s service) connectionShares() map[string]int64 {
	recent, total := map[string]uint64{}, map[string]uint64{}
	var recentSum, totalSum uint64
	for _, seat := range s.assignment.Seats {
		engine := s.known.Engine(seat.Engine)
		if !engine.Works() || engine.Sample.Service(s.vs.UUID) == nil {
			continue
		}
		now := engine.Sample.Service(s.vs.UUID).GetConnectionsTotal()
		then := engine.Earlier.Service(s.vs.UUID).GetConnectionsTotal()
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
func (s service) vips(engines []any, percent int64) vipViews {
	views := vipViews{runtime: []any{}, summary: []any{}}
	scale := s.scale()
	standby := int64(0)
	for _, seat := range s.assignment.Seats {
		if seat.State == place.Standby {
			standby++
		}
	}
	status := operStatus(health.Up)
	if len(s.known.Serving(s.vs.UUID, s.known.Assigned(s.vs.UUID))) == 0 {
		status = operStatus(health.Down)
	}
	for _, vip := range s.vs.Vips {
		views.runtime = append(views.runtime, schema.Object{
			"vip_id": vip.VipID, "se_list": engines, "num_additional_se": int64(0),
			"requested_resource": schema.Object{"num_se": scale["num_se_requested"], "num_standby_se": standby},
		})
		summary := schema.Object{
			"vip_id": vip.VipID, "oper_status": status, "percent_ses_up": percent, "service_engine": engines,
		}
		maps.Copy(summary, scale)
		views.summary = append(views.summary, summary)
	}
	return views
}
