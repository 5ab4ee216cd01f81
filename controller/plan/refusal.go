package plan

import (
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// refusalPrefix makes the uuid of a refusal. The virtual service itself is in no Plan.
const refusalPrefix = "refusal-"

// refusalUnder returns a draft of a child that is not served: it has the names, hosts and paths of the child and no
// pool, so that their clients get an error. nil: engines cannot tell these clients from others of the parent.
func (d *draft) refusalUnder(parent *model.VirtualService) *draft {
	vs := likeServed(d.vs, parent)
	if vs.ByRequest() != parent.ByRequest() || (vs.HTTP == nil) != (parent.HTTP == nil) || lacksNames(vs) {
		return nil
	}
	if d.refusal == nil || (d.refusal.service.GetHttp() == nil) != (vs.HTTP == nil) {
		d.refusal = newRefusal(vs, d.hostGroups)
	}
	if len(d.refusal.parts) == 0 {
		return nil
	}
	return d.refusal
}

// likeServed returns a child as engines could serve it, without a pool. Where the child's profiles are of types that
// engines do not serve, it has the defaults of its parent's types.
func likeServed(vs, parent *model.VirtualService) *model.VirtualService {
	alone := *vs
	alone.Pool, alone.PoolGroup, alone.UDP = nil, nil, nil
	alone.SSLProfileSelectors = nil // its own profile is good enough to tell an error
	if vs.TCP == nil {
		alone.TCP, alone.NetworkProfile = schema.Defaults[kinds.TCPProxy](), parent.NetworkProfile
	}
	if vs.HTTP == nil && vs.L4 == nil {
		alone.ApplicationProfile = parent.ApplicationProfile
		if parent.HTTP != nil {
			alone.HTTP = schema.Defaults[kinds.HTTPProfile]()
		} else {
			alone.L4 = schema.Defaults[kinds.TCPAppProfile]()
		}
	}
	return &alone
}

// newRefusal leaves the parts empty if TLS cannot end here. It reports nothing: the draft of the child has.
func newRefusal(vs *model.VirtualService, hostGroups []part) *draft {
	made := &draft{vs: vs, subject: about("virtualservice", vs.Identity, vs.Named), claims: wishesOf(vs)}
	made.service = &dataplanev1.VirtualService{Uuid: refusalPrefix + vs.UUID, Name: vs.Name}
	var unsaid report
	made.service.Tcp = tcpProfile(vs, &unsaid)
	made.expressionBytes = child(made.subject, vs, made.service, &unsaid)
	forgetUnknownPaths(made.service)
	if vs.HTTP != nil {
		made.service.Http = httpProfile(vs, httpsPort(vs), &unsaid)
	} else {
		made.service.L4 = l4Profile(vs, &unsaid)
	}
	if len(made.service.GetServerNames())+len(made.service.GetHostMatches()) == 0 {
		return made
	}
	if httpsPort(vs) != 0 && hasOwnTLS(vs) {
		var tls report
		if made.parts = partsOf(secure(made.subject, vs, nil, made.service, &tls)); tls.blocked {
			made.parts = nil
			return made
		}
	}
	made.parts = append(slices.Concat(made.parts, hostGroups), partOf(resourceOf(made.service)))
	return made
}

// forgetUnknownPaths removes the rules that engines cannot try, and the hosts that have no other rule.
func forgetUnknownPaths(service *dataplanev1.VirtualService) {
	service.HostMatches = slices.DeleteFunc(service.GetHostMatches(), func(match *dataplanev1.HostMatch) bool {
		rules := len(match.GetRules())
		match.Rules = slices.DeleteFunc(match.GetRules(), func(rule *dataplanev1.HostRule) bool {
			return rule.GetPath() != nil &&
				rule.GetPath().GetCriterion() == dataplanev1.TextCriterion_TEXT_CRITERION_UNSPECIFIED
		})
		return rules > 0 && len(match.GetRules()) == 0
	})
}
