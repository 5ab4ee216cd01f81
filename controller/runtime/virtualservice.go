package runtime

import (
	"maps"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
)

// VirtualService returns the runtime page of a virtual service: its state and the reasons, the engines that serve it,
// on how many of them its newest configuration is in force, the findings, the counters, and how long requests take.
func (p *Pages) VirtualService(uuid string) (page schema.Object) {
	p.fleet.Read(func(known *fleet.Known) {
		if vs := known.VirtualService(uuid); vs != nil {
			page = service{known, vs, known.Assignment(uuid)}.page()
			page["slow_servers"] = p.slowServers(vs.Pools())
			if chosen := poolPages(vs.RulePools()); len(chosen) > 0 {
				page["rule_pools"] = chosen
			}
			if members := groupPools(vs.PoolGroup); len(members) > 0 {
				page["group_pools"] = members
			}
			if backups := poolPages(vs.BackupPools()); len(backups) > 0 {
				page["backup_pools"] = backups
			}
		} else {
			page = notRead()
		}
	})
	return page
}

func poolPages(pools []*model.Pool) (list []any) {
	for _, pool := range pools {
		list = append(list, schema.Object{"pool_ref": schema.RefPath("pool", pool.UUID), "name": pool.Name})
	}
	return list
}

// groupPools are the pools of a group, with their shares of the requests.
func groupPools(group *model.PoolGroup) (list []any) {
	if group == nil {
		return nil
	}
	for _, member := range group.Members {
		list = append(list, schema.Object{"pool_ref": schema.RefPath("pool", member.Pool.UUID),
			"name": member.Pool.Name, "ratio": int64(member.Share), "priority": int64(member.Priority)})
	}
	return list
}

// service is a virtual service with its assignment.
type service struct {
	known      *fleet.Known
	vs         *model.VirtualService
	assignment place.Assignment
}

func (s service) page() schema.Object {
	status := s.known.ServiceHealth(s.vs)
	percent, engines := s.percentUp(), s.engines()
	vips := s.vips(engines, percent)
	page := schema.Object{
		"oper_status":        operStatus(status.State, status.Reasons...),
		"percent_ses_up":     percent,
		"service_engine":     engines,
		"vip_runtime":        vips.runtime,
		"vip_summary":        vips.summary,
		"applied":            s.applied(),
		"warnings":           s.warnings(),
		"virtualservice_ref": schema.RefPath("virtualservice", s.vs.UUID),
	}
	maps.Copy(page, s.scale())
	tally := s.known.ServiceCounters(s.vs.UUID)
	counted(page, tally)
	handshakes(page, tally)
	timed(page, s.known.ServiceTimes(s.vs.UUID))
	return page
}

// percentUp returns how many of the engines that should serve the virtual service do so, in percent. Engines that drain
// it are not counted.
func (s service) percentUp() int64 {
	var wanted []string
	for _, seat := range s.assignment.Seats {
		if seat.Duty() == place.Serve {
			wanted = append(wanted, seat.Engine)
		}
	}
	return percentOf(len(s.known.Serving(s.vs.UUID, wanted)), len(wanted))
}

// applied says on how many engines the newest configuration is in force, in which revision it was made, and which
// engines refused it.
func (s service) applied() schema.Object { return appliedPage(s.known, s.known.Applied(s.vs)) }

// warnings returns all findings about a virtual service: what the controller could not compile, what engines accepted
// without effect, and what they refused.
func (s service) warnings() []any {
	list := []any{}
	for _, finding := range s.known.Findings(s.vs) {
		list = append(list, schema.Object{
			"kind": finding.Kind, "uuid": finding.UUID, "name": finding.Name, "field": finding.Field,
			"message": finding.Message,
		})
	}
	for _, id := range s.known.Assigned(s.vs.UUID) {
		list = append(list, findings(s.known.Engine(id).FindingsAbout(s.vs), s.known.Name(id))...)
	}
	return list
}

// findings returns the findings of an engine, with its name.
func findings(found []*dataplanev1.Finding, engine string) []any {
	list := []any{}
	for _, finding := range found {
		list = append(list, schema.Object{
			"kind": finding.GetKind(), "uuid": finding.GetUuid(), "name": finding.GetName(),
			"field":   finding.GetField(),
			"message": finding.GetMessage(), "engine": engine,
		})
	}
	return list
}
