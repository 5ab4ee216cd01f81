package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/sorted"
)

// Build makes the model of all objects, which are given by kind. It never fails: it leaves out what it cannot read or
// resolve, and returns a finding about that. Findings are sorted by kind and uuid.
func Build(revision int64, objects map[string][]schema.Object) (*Model, []Finding) {
	var all []Change
	for kind, list := range objects {
		for _, object := range list {
			all = append(all, Change{Kind: kind, UUID: textOf(object, "uuid"), Object: object})
		}
	}
	return new(Keeper).Keep(revision, all)
}

// Change is an object that was added, changed or deleted.
type Change struct {
	Kind, UUID string
	Object     schema.Object // nobody changes it in place any more; nil: it was deleted
	Modified   int64         // read as _last_modified, which Object need not have; 0: not told
	Purges     *Purges       // of a virtual service; nil: none
}

// Keeper makes each model from the one before and from the changes since then. It reads the changed objects, and
// resolves them and the objects that refer to them. All other objects are the same in both models, by pointer. The zero
// value has no objects. A Keeper is not safe for concurrent use.
type Keeper struct {
	Countries Countries // is set before the first model, and never changes
	Places    Places    // the same

	read      map[subject]*reading
	referrers map[string]map[subject]bool // by the uuid that they refer to, even if no object has that uuid
	findings  []Finding                   // sorted; a new list whenever a finding changes

	applicationProfiles table[kinds.ApplicationProfile]
	networkProfiles     table[kinds.NetworkProfile]
	sslProfiles         table[kinds.SSLProfile]
	pkiProfiles         table[kinds.PKIProfile]
	persistenceProfiles table[kinds.ApplicationPersistenceProfile]
	analyticsProfiles   table[kinds.AnalyticsProfile]
	priorityLabels      table[kinds.PriorityLabels]
	errorBodies         table[kinds.ErrorPageBody]
	stringGroups        table[kinds.StringGroup]
	addressGroups       table[AddressGroup]
	places              table[AddressGroup] // of Places and Countries that rules have named, by kinds.GeoMatch.Place
	vsVips              table[kinds.VsVip]
	vrfContexts         table[kinds.VrfContext]
	certificates        table[Certificate]
	connectorUsers      table[kinds.CloudConnectorUser]
	tokenIssuers        table[kinds.JWTServerProfile]

	monitors        resolved[HealthMonitor]
	pools           resolved[Pool]
	poolGroups      resolved[PoolGroup]
	errorPages      resolved[ErrorPages]
	authProfiles    resolved[AuthProfile]
	ssoPolicies     resolved[SSOPolicy]
	policySets      resolved[HTTPPolicySet]
	scriptSets      resolved[ScriptSet]
	networkPolicies resolved[NetworkPolicy]
	l4Sets          resolved[L4PolicySet]
	clouds          resolved[Cloud]
	groups          resolved[Group]
	engines         resolved[Engine]
	virtualServices resolved[VirtualService]
	routingContexts []*kinds.VrfContext // sorted
}

// subject names an object.
type subject struct{ kind, uuid string }

func (s subject) compare(other subject) int {
	return cmp.Or(strings.Compare(s.kind, other.kind), strings.Compare(s.uuid, other.uuid))
}

// table has the objects of one kind by uuid, as they were read.
type table[T any] map[string]*T

func (t table[T]) find(uuid string) *T { return t[uuid] }

// Keep makes the next model.
func (k *Keeper) Keep(revision int64, changes []Change) (*Model, []Finding) {
	if k.read == nil {
		k.read, k.referrers = map[subject]*reading{}, map[string]map[subject]bool{}
	}
	stale := stale{}
	for _, change := range changes {
		if k.take(change) {
			stale.add(subject{change.Kind, change.UUID})
			stale.addAll(k.referrers[change.UUID])
		}
	}
	k.resolveAll(stale)
	k.routingContexts = sorted.Edit(k.routingContexts, stale.of(k.vrfContexts, "vrfcontext"), uuidOfVrf)
	k.note(stale)
	return &Model{
		Revision:        revision,
		VirtualServices: k.virtualServices.sorted,
		Pools:           k.pools.sorted,
		Groups:          k.groups.sorted,
		Engines:         k.engines.sorted,
		VrfContexts:     k.routingContexts,
	}, k.findings
}

// stale has the uuids of objects that have changed, or that refer to changed objects, by kind.
type stale map[string]map[string]bool

func (s stale) add(what subject) {
	if s[what.kind] == nil {
		s[what.kind] = map[string]bool{}
	}
	s[what.kind][what.uuid] = true
}

func (s stale) addAll(many map[subject]bool) {
	for what := range many {
		s.add(what)
	}
}

// of returns the stale objects of a kind as they are in a table now; nil: the table does not have the object.
func (s stale) of(table table[kinds.VrfContext], kind string) map[string]*kinds.VrfContext {
	edits := map[string]*kinds.VrfContext{}
	for uuid := range s[kind] {
		edits[uuid] = table[uuid]
	}
	return edits
}

// note replaces the findings of stale objects. All findings of one object stand next to each other in the list.
func (k *Keeper) note(stale stale) {
	var findings []Finding
	rest, differ := k.findings, false
	for _, kind := range slices.Sorted(maps.Keys(stale)) {
		for _, uuid := range slices.Sorted(maps.Keys(stale[kind])) {
			about := subject{kind, uuid}
			begin, _ := slices.BinarySearchFunc(rest, about, func(f Finding, about subject) int {
				return f.about().compare(about)
			})
			end := begin
			for end < len(rest) && rest[end].about() == about {
				end++
			}
			now := k.findingsOf(about)
			differ = differ || !slices.Equal(rest[begin:end], now)
			findings = append(append(findings, rest[:begin]...), now...)
			rest = rest[end:]
		}
	}
	if differ {
		k.findings = append(findings, rest...)
	}
}

func (k *Keeper) findingsOf(about subject) []Finding {
	var found []Finding
	if read := k.read[about]; read != nil {
		found = append(slices.Clone(read.findings), k.unresolved(about)...)
	}
	slices.SortFunc(found, Finding.Compare)
	return found
}
