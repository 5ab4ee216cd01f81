package plan

import (
	"fmt"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

var scriptEvents = map[string]dataplanev1.ScriptEvent{
	kinds.ScriptAccept:       dataplanev1.ScriptEvent_SCRIPT_EVENT_TCP_CLIENT_ACCEPT,
	kinds.ScriptPreConnect:   dataplanev1.ScriptEvent_SCRIPT_EVENT_CLIENT_SSL_PRE_CONNECT,
	kinds.ScriptHello:        dataplanev1.ScriptEvent_SCRIPT_EVENT_CLIENT_SSL_CLIENT_HELLO,
	kinds.ScriptHandshake:    dataplanev1.ScriptEvent_SCRIPT_EVENT_SSL_HANDSHAKE_DONE,
	kinds.ScriptFirstBytes:   dataplanev1.ScriptEvent_SCRIPT_EVENT_L4_REQUEST,
	kinds.ScriptFirstAnswer:  dataplanev1.ScriptEvent_SCRIPT_EVENT_L4_RESPONSE,
	kinds.ScriptAuth:         dataplanev1.ScriptEvent_SCRIPT_EVENT_HTTP_AUTH,
	kinds.ScriptPostAuth:     dataplanev1.ScriptEvent_SCRIPT_EVENT_HTTP_POST_AUTH,
	kinds.ScriptRequest:      dataplanev1.ScriptEvent_SCRIPT_EVENT_HTTP_REQ,
	kinds.ScriptRequestData:  dataplanev1.ScriptEvent_SCRIPT_EVENT_HTTP_REQ_DATA,
	kinds.ScriptChoice:       dataplanev1.ScriptEvent_SCRIPT_EVENT_HTTP_LB_DONE,
	kinds.ScriptResponse:     dataplanev1.ScriptEvent_SCRIPT_EVENT_HTTP_RESP,
	kinds.ScriptResponseData: dataplanev1.ScriptEvent_SCRIPT_EVENT_HTTP_RESP_DATA,
	kinds.ScriptFailure:      dataplanev1.ScriptEvent_SCRIPT_EVENT_HTTP_RESP_FAILED,
	kinds.ScriptShortage:     dataplanev1.ScriptEvent_SCRIPT_EVENT_HTTP_LB_FAILED,
}

// addScripts adds the sets of scripts of a virtual service. It is not served without one of them: a script may keep
// clients out.
func (c *Compiler) addScripts(d *draft) {
	if len(d.vs.Scripts) < len(d.vs.DataScripts) {
		d.report.blocked = true // model has a finding about that
	}
	if len(d.vs.Scripts) > 0 {
		d.service.ScriptLimit = scriptLimit(d.vs.ApplicationProfile, &d.report)
	}
	for _, set := range d.vs.Scripts {
		if !set.Whole() {
			d.report.blocked = true // the same
			continue
		}
		d.checkEvents(set)
		d.service.ScriptSetUuids = append(d.service.ScriptSetUuids, set.UUID)
		d.parts = append(d.parts, c.scriptSet(set, &d.report)...)
	}
}

// checkEvents finds the scripts of a set that never run for a virtual service. It is not served with one that is for
// another kind of service.
func (d *draft) checkEvents(set *model.ScriptSet) {
	const at = "vs_datascripts"
	if d.service.Udp != nil {
		d.report.block(d.subject, at, "scripts run for no datagrams: remove them, or use a network profile for TCP")
		return
	}
	for _, script := range set.Scripts {
		event := strings.TrimPrefix(script.Event, "VS_DATASCRIPT_EVT_")
		_, isOfTLS := strings.CutPrefix(strings.TrimPrefix(event, "CLIENT_"), "SSL_")
		isAccept := script.Event == kinds.ScriptAccept
		never := func(why string) { d.report.block(d.subject, at, "scripts for %s never run: %s", event, why) }
		switch {
		case strings.HasPrefix(event, "L4_") && d.vs.HTTP != nil:
			d.report.block(d.subject, at, "a script for %s needs an application profile of "+
				"APPLICATION_PROFILE_TYPE_L4 or APPLICATION_PROFILE_TYPE_SSL: remove it, or use another profile", event)
		case strings.HasPrefix(event, "HTTP_") && d.vs.HTTP == nil:
			d.report.block(d.subject, at, "scripts for HTTP need an application profile of "+
				"APPLICATION_PROFILE_TYPE_HTTP: remove them, or use another profile")
		case isOfTLS && !hasTLS(d.vs):
			never("no service port has enable_ssl. Set it, or remove them")
		case d.vs.IsChild() && d.vs.ByRequest() && (isOfTLS || isAccept),
			d.vs.IsChild() && (isAccept || script.Event == kinds.ScriptPreConnect):
			never("clients connect to the parent. Give them to that")
		}
	}
}

// scriptSet is a set of scripts as resources: the groups that they may name, then the set itself.
func (c *Compiler) scriptSet(set *model.ScriptSet, report *report) []part {
	to := &dataplanev1.ScriptSet{Uuid: set.UUID, Name: set.Name}
	for i, from := range set.Scripts {
		event, served := scriptEvents[from.Event]
		if !served {
			report.block(about("vsdatascriptset", set.Identity, set.Named), fmt.Sprintf("datascript[%d].evt", i),
				"engines run no scripts in %s", from.Event)
		}
		to.Scripts = append(to.Scripts, &dataplanev1.Script{Event: event, Source: from.Script, Position: uint32(i)})
	}
	for _, pool := range set.Pools {
		to.Pools = append(to.Pools, &dataplanev1.Named{Name: pool.Name, Uuid: pool.UUID})
	}
	var parts []part
	for i, group := range set.Groups {
		to.PoolGroups = append(to.PoolGroups, &dataplanev1.Named{Name: group.Name, Uuid: group.UUID})
		var last *enginev1.Resource
		for _, labeled := range labeledGroups(group) {
			of := labeled.of.GetPoolGroup()
			to.LabeledGroups = append(to.LabeledGroups,
				&dataplanev1.LabeledGroup{Group: uint32(i), Label: labeled.label, Uuid: of.GetUuid()})
			if labeled.of != last {
				parts = append(parts, partOf(labeled.of))
			}
			last = labeled.of
		}
	}
	named := map[string]bool{}
	for i, limiter := range set.RateLimiters {
		// Sets from before these had an effect may have limiters without names, and with any numbers.
		at := fmt.Sprintf("rate_limiters[%d]", i)
		if limiter.Name == "" || named[limiter.Name] {
			report.warn(about("vsdatascriptset", set.Identity, set.Named), at+".name",
				"no script can ask this one: give it a name that no other has")
			continue
		}
		if problem := limiter.Check(at); problem != nil {
			report.warn(about("vsdatascriptset", set.Identity, set.Named), problem.Field,
				"%s; engines have no limit %s", problem.Problem, limiter.Name)
			continue
		}
		named[limiter.Name] = true
		to.Limits = append(to.Limits, &dataplanev1.ScriptLimit{
			Name: limiter.Name, Count: limiter.Count, PeriodS: limiter.Period, Burst: limiter.Burst,
		})
	}
	noteMisnamed(set, report)
	for _, group := range set.StringGroups {
		to.StringGroupUuids = append(to.StringGroupUuids, group.UUID)
		parts = append(parts, partOf(stringGroup(group)))
	}
	for _, group := range set.AddressGroups {
		to.AddressGroupUuids = append(to.AddressGroupUuids, group.UUID)
		parts = append(parts, c.addressGroup(group))
	}
	return append(parts, partOf(&enginev1.Resource{Uuid: set.UUID, Body: &enginev1.Resource_ScriptSet{ScriptSet: to}}))
}

// noteMisnamed warns of the texts in scripts that name none of the objects of their set: the functions that get them
// raise an error. A finding of the model tells of the names of limits.
func noteMisnamed(set *model.ScriptSet, report *report) {
	for _, named := range set.InScripts {
		var known bool
		switch named.Among {
		case "pool_refs":
			known = hasName(set.Pools, named, func(p *model.Pool) string { return p.Name })
		case "pool_group_refs":
			known = hasName(set.Groups, named, func(g *model.PoolGroup) string { return g.Name })
		case "string_group_refs":
			known = hasName(set.StringGroups, named, func(g *kinds.StringGroup) string { return g.Name })
		case "ipgroup_refs":
			known = hasName(set.AddressGroups, named, func(g *model.AddressGroup) string { return g.Name })
		default:
			continue
		}
		if !known {
			report.warn(about("vsdatascriptset", set.Identity, set.Named), named.Field, "%s", named.Problem())
		}
	}
}

func hasName[T any](objects []T, named kinds.ScriptName, nameOf func(T) string) bool {
	return slices.ContainsFunc(objects, func(object T) bool { return nameOf(object) == named.Name })
}
