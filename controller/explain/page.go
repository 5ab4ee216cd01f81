package explain

import (
	"cmp"
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// page is the answers as JSON.
func (e *Explainer) page(q Question, found Found, engines []*asked, draft *Draft,
	sees func(uuid string) bool) schema.Object {
	page := schema.Object{
		"virtualservice": schema.Object{"uuid": found.VirtualService, "name": found.Name},
		"address":        found.Address.String(), "port": int64(q.Port), "tls": q.TLS, "method": q.Method,
		"host": q.Authority, "target": q.Target, "client": q.Client.String(),
	}
	e.fleet.Read(func(known *fleet.Known) {
		all, of := []any{}, draft.objects(known)
		for _, engine := range engines {
			all = append(all, (&teller{known, of, engine, sees, q, found, draft != nil}).page())
		}
		services := reachedBy(found, engines, sees)
		page["engines"], page["rules_without_effect"] = all, idleRules(of, services)
		draft.addTo(page, known, services)
	})
	return page
}

// reachedBy are the uuids of the virtual service that is asked about, and of its children that get the request.
func reachedBy(found Found, engines []*asked, sees func(uuid string) bool) (uuids []string) {
	for _, uuid := range append([]string{found.VirtualService}, childrenOf(engines)...) {
		if uuid != "" && sees(uuid) && !slices.Contains(uuids, uuid) {
			uuids = append(uuids, uuid)
		}
	}
	return uuids
}

func childrenOf(engines []*asked) (uuids []string) {
	for _, engine := range engines {
		uuids = append(uuids, engine.said.GetChildUuid())
	}
	return uuids
}

// idleRules are the rules of virtual services that never have an effect, whatever is asked.
func idleRules(known objects, services []string) []any {
	all := []any{}
	for _, uuid := range services {
		vs := known.VirtualService(uuid)
		if vs == nil {
			continue
		}
		for _, finding := range known.Findings(vs) {
			if finding.Rule != "" {
				rule := shown(vs, finding)
				rule["rule"] = finding.Rule
				all = append(all, rule)
			}
		}
	}
	return all
}

// shown is a finding about a virtual service, or about what it uses.
func shown(vs *model.VirtualService, finding model.Finding) schema.Object {
	return schema.Object{
		"virtualservice": schema.Object{"uuid": vs.UUID, "name": vs.Name}, "kind": finding.Kind,
		"uuid": finding.UUID, "name": finding.Name, "field": finding.Field, "why": finding.Message,
	}
}

// teller shows what one engine said.
type teller struct {
	known   *fleet.Known
	objects objects
	engine  *asked
	sees    func(uuid string) bool
	asked   Question
	found   Found
	isDraft bool
}

func (t *teller) page() schema.Object {
	page := schema.Object{"uuid": t.engine.uuid, "name": t.engine.name, "stages": t.stages()}
	said := t.engine.said
	if why := t.unanswered(); why != "" {
		page["error"] = why
		return page
	}
	page["revision"], page["newest"] = int64(said.GetRevision()), t.engine.newest
	page["worker"], page["workers"] = int64(said.GetWorker()), int64(said.GetWorkers())
	page["listens"] = said.GetVirtualServiceUuid() != ""
	if said.GetVirtualServiceUuid() == "" {
		return page
	}
	if t.isHidden() {
		page["hidden"] = "the request is for a virtual service that you may not read"
		return page
	}
	page["virtualservice"] = t.service(said.GetVirtualServiceUuid())
	if uuid := said.GetChildUuid(); uuid != "" {
		child := t.service(uuid)
		child["chosen_by"] = chosenBy[said.GetChildChosen()]
		page["child"] = child
	}
	page["drains"] = said.GetDrains()
	for field, name := range map[string]string{
		"security_rule": said.GetSecurityRule(),
		"authn_rule":    said.GetAuthenticationRule(), "authz_rule": said.GetAuthorizationRule(),
		"limit": said.GetLimit(), "datascript_log": said.GetSaid(),
	} {
		if name != "" {
			page[field] = name
		}
	}
	t.rules(page, said)
	if most := said.GetThroughputMbps(); most > 0 {
		page["max_throughput"] = int64(most)
	}
	if mode := certificateModes[said.GetClientCertificate()]; mode != "" {
		page["client_certificate"] = mode
	}
	if kind := said.GetCache().GetKind(); kind != "" {
		page["cache"] = kind
	}
	if said.GetIsRewritten() {
		page["rewritten"] = true
	}
	if said.GetCause() != "" {
		response := schema.Object{"status": int64(said.GetStatus()), "cause": said.GetCause()}
		if said.GetLocation() != "" {
			response["location"] = said.GetLocation()
		}
		page["response"] = response
	}
	t.group(page, said)
	if said.GetPoolUuid() != "" {
		t.pool(page, said)
	}
	return page
}

// unanswered says why there is no answer; empty: there is one.
func (t *teller) unanswered() string { return cmp.Or(t.engine.error, t.engine.said.GetError()) }

// isHidden tells whether the request is for a virtual service that the user may not read.
func (t *teller) isHidden() bool {
	for _, uuid := range []string{t.engine.said.GetVirtualServiceUuid(), t.engine.said.GetChildUuid()} {
		if uuid != "" && !t.sees(uuid) {
			return true
		}
	}
	return false
}

// certificateModes are those in which the client is asked for a certificate.
var certificateModes = map[dataplanev1.ClientCertificateMode]string{
	dataplanev1.ClientCertificateMode_CLIENT_CERTIFICATE_MODE_REQUEST: kinds.RequestClientCertificate,
	dataplanev1.ClientCertificateMode_CLIENT_CERTIFICATE_MODE_REQUIRE: kinds.RequireClientCertificate,
}

var chosenBy = map[dataplanev1.Chosen]string{
	dataplanev1.Chosen_CHOSEN_BY_SERVER_NAME: "server_name", dataplanev1.Chosen_CHOSEN_BY_REQUEST: "host_and_path",
}

var algorithms = map[dataplanev1.Algorithm]string{
	dataplanev1.Algorithm_ALGORITHM_LEAST_CONNECTIONS:     "LB_ALGORITHM_LEAST_CONNECTIONS",
	dataplanev1.Algorithm_ALGORITHM_ROUND_ROBIN:           "LB_ALGORITHM_ROUND_ROBIN",
	dataplanev1.Algorithm_ALGORITHM_CONSISTENT_HASH:       "LB_ALGORITHM_CONSISTENT_HASH",
	dataplanev1.Algorithm_ALGORITHM_RANDOM:                "LB_ALGORITHM_RANDOM",
	dataplanev1.Algorithm_ALGORITHM_FASTEST_RESPONSE:      "LB_ALGORITHM_FASTEST_RESPONSE",
	dataplanev1.Algorithm_ALGORITHM_LEAST_LOAD:            "LB_ALGORITHM_LEAST_LOAD",
	dataplanev1.Algorithm_ALGORITHM_FEWEST_SERVERS:        "LB_ALGORITHM_FEWEST_SERVERS",
	dataplanev1.Algorithm_ALGORITHM_FEWEST_TASKS:          "LB_ALGORITHM_FEWEST_TASKS",
	dataplanev1.Algorithm_ALGORITHM_CORE_AFFINITY:         "LB_ALGORITHM_CORE_AFFINITY",
	dataplanev1.Algorithm_ALGORITHM_ROUND_ROBIN_OF_ENGINE: "LB_ALGORITHM_ROUND_ROBIN",
}

var hashInputs = map[dataplanev1.HashInput]string{
	dataplanev1.HashInput_HASH_INPUT_SOURCE_ADDRESS:          "client_address",
	dataplanev1.HashInput_HASH_INPUT_SOURCE_ADDRESS_AND_PORT: "client_address_and_port",
	dataplanev1.HashInput_HASH_INPUT_URI:                     "uri",
	dataplanev1.HashInput_HASH_INPUT_HEADER:                  "header",
	dataplanev1.HashInput_HASH_INPUT_TLS_SESSION:             "tls_session",
}

var pickedBy = map[dataplanev1.Picked]string{
	dataplanev1.Picked_PICKED_BY_ALGORITHM: "algorithm", dataplanev1.Picked_PICKED_BY_PERSISTENCE: "persistence",
	dataplanev1.Picked_PICKED_FOR_TRIAL: "trial", dataplanev1.Picked_PICKED_AS_LAST: "last",
}

var states = map[dataplanev1.Eligibility]string{
	dataplanev1.Eligibility_ELIGIBILITY_ELIGIBLE: "eligible", dataplanev1.Eligibility_ELIGIBILITY_DISABLED: "disabled",
	dataplanev1.Eligibility_ELIGIBILITY_DOWN: "down", dataplanev1.Eligibility_ELIGIBILITY_FULL: "full",
	dataplanev1.Eligibility_ELIGIBILITY_SUSPECT: "suspect", dataplanev1.Eligibility_ELIGIBILITY_EJECTED: "ejected",
}

var persistedBy = map[dataplanev1.BoundBy]string{
	dataplanev1.BoundBy_BOUND_BY_COOKIE: "cookie", dataplanev1.BoundBy_BOUND_BY_HEADER: "header",
	dataplanev1.BoundBy_BOUND_BY_ADDRESS: "client_address",
}

var bonds = map[dataplanev1.Bond]string{
	dataplanev1.Bond_BOND_NONE: "none", dataplanev1.Bond_BOND_KEPT: "kept",
	dataplanev1.Bond_BOND_EXPIRED: "expired", dataplanev1.Bond_BOND_SERVER_DOWN: "server_down",
	dataplanev1.Bond_BOND_SERVER_DISABLED: "server_disabled", dataplanev1.Bond_BOND_SERVER_BUSY: "server_busy",
}

func (t *teller) service(uuid string) schema.Object {
	return schema.Object{"uuid": uuid, "name": t.serviceName(uuid)}
}

// serviceName is empty if the virtual service has just been deleted.
func (t *teller) serviceName(uuid string) string {
	if vs := t.objects.VirtualService(uuid); vs != nil {
		return vs.Name
	}
	return ""
}

// poolName is empty if the pool has just been deleted.
func (t *teller) poolName(uuid string) string {
	if pool := t.objects.Pool(uuid); pool != nil {
		return pool.Name
	}
	return ""
}

func (t *teller) pool(page schema.Object, said *dataplanev1.Explanation) {
	of := schema.Object{"uuid": said.GetPoolUuid(), "name": t.poolName(said.GetPoolUuid())}
	page["pool"], page["algorithm"] = of, algorithms[said.GetAlgorithm()]
	if said.GetAlgorithm() == dataplanev1.Algorithm_ALGORITHM_CONSISTENT_HASH {
		page["hash_input"] = hashInputs[said.GetHashInput()]
	}
	if said.GetServerId() != "" {
		page["server"], page["picked_by"] = said.GetServerId(), pickedBy[said.GetPicked()]
	}
	if said.WaitsBehind != nil {
		page["waits_behind"] = int64(said.GetWaitsBehind())
	}
	if by := persistedBy[said.GetBoundBy()]; by != "" {
		page["persistence"] = schema.Object{
			"by": by, "server": said.GetBoundServerId(), "state": bonds[said.GetBond()],
		}
	}
	servers := []any{}
	for _, standing := range said.GetServers() {
		server := schema.Object{
			"id": standing.GetServerId(), "state": states[standing.GetEligibility()],
			"connections": int64(standing.GetConnections()), "ratio": int64(standing.GetRatio()),
		}
		if share := standing.GetSharePercent(); share > 0 && share < 100 {
			server["share_percent"] = int64(share)
		}
		if standing.GetMaxConnections() > 0 {
			server["max_connections"] = int64(standing.GetMaxConnections())
		}
		if standing.GetEligibility() == dataplanev1.Eligibility_ELIGIBILITY_DOWN {
			server["reason"] = t.whyDown(standing.GetServerId())
		}
		servers = append(servers, server)
	}
	page["servers"], page["servers_total"] = servers, int64(said.GetServersTotal())
}

// whyDown says why a server of the pool is down; empty: nobody has said.
func (t *teller) whyDown(server string) string {
	engine := t.known.Engine(t.engine.uuid)
	if engine == nil {
		return ""
	}
	return engine.Verdict(fleet.ServerKey{Pool: t.engine.said.GetPoolUuid(), Server: server}).GetReason()
}
