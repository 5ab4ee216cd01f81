package explain

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/api/record"
	"github.com/weir-lb/weir/logs/story"
)

// stages tells what one engine said: a sentence for each stage of the way of the request. They have the names of the
// stages of a record (logs/story), so that what would happen now can stand beside what happened.
func (t *teller) stages() (stages []story.Stage) {
	add := func(name, text string) { stages = append(stages, story.Stage{Name: name, Text: text}) }
	said := t.engine.said
	if why := t.unanswered(); why != "" {
		add("engine", fmt.Sprintf("No answer from the engine %s: %s.", t.engine.name, why))
		return stages
	}
	if said.GetVirtualServiceUuid() != "" && t.isHidden() {
		add("client", "The request is for a virtual service that you may not read.")
		return stages
	}
	add("client", t.client())
	add("engine", t.taken())
	if text := rules(said); text != "" {
		add("rules", text)
	}
	if text := cacheTold(said); text != "" {
		add("cache", text)
	}
	if said.GetIsRewritten() {
		add("rewriting", "Texts are replaced in the response, if its type is one of rewritable_content_ref.")
	}
	if text := t.groupTold(); text != "" {
		add("group", text)
	}
	if said.GetPoolUuid() != "" {
		add("pool", t.poolTold())
		add("servers", t.servers())
	}
	if text := bound(said); text != "" {
		add("persistence", text)
	}
	if said.GetServerId() != "" {
		why := cmp.Or(pickedFor[said.GetPicked()], "for a reason that this controller does not know")
		add("server", fmt.Sprintf("The server would be %s, %s.", said.GetServerId(), why))
	}
	if said.WaitsBehind != nil {
		add("queue", waits(said))
	}
	if said.GetCause() != "" {
		add("response", ownAnswer(said))
	}
	if said.GetDrains() {
		add("connection", "The client would be asked to connect to another engine afterwards.")
	}
	return stages
}

func (t *teller) client() string {
	at := netip.AddrPortFrom(t.found.Address, t.asked.Port)
	said := t.engine.said
	if said.GetVirtualServiceUuid() == "" && t.isDraft {
		return fmt.Sprintf("%s would get no connection: the engine would not listen at %s.", t.asked.Client, at)
	}
	if said.GetVirtualServiceUuid() == "" {
		return fmt.Sprintf("%s would get no connection: the engine does not listen at %s. The state of %s says why.",
			t.asked.Client, at, t.found.Name)
	}
	text := fmt.Sprintf("%s would connect to %s, the virtual service %s", t.asked.Client, at,
		nameOr(t.serviceName(said.GetVirtualServiceUuid()), said.GetVirtualServiceUuid()))
	if child := said.GetChildUuid(); child != "" {
		text += fmt.Sprintf("; its child %s, chosen by %s, gets the request",
			nameOr(t.serviceName(child), child),
			cmp.Or(childChosenBy[said.GetChildChosen()], "a rule that this controller does not know"))
	}
	return text + "."
}

// nameOr is the name of an object, or its uuid if it has just been deleted.
func nameOr(name, uuid string) string { return cmp.Or(name, uuid) }

var childChosenBy = map[dataplanev1.Chosen]string{
	dataplanev1.Chosen_CHOSEN_BY_SERVER_NAME: "the server name of TLS",
	dataplanev1.Chosen_CHOSEN_BY_REQUEST:     "vh_matches",
}

func (t *teller) taken() string {
	said := t.engine.said
	text := fmt.Sprintf("Worker %d of the engine %s answers, by revision %d of its configuration", said.GetWorker(),
		t.engine.name, said.GetRevision())
	if t.isDraft {
		return text + " with the draft."
	}
	if t.engine.newest {
		return text + ", the newest."
	}
	return text + ", which is NOT the newest: ask again when the engine has that."
}

func (t *teller) poolTold() string {
	said := t.engine.said
	by := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(algorithms[said.GetAlgorithm()], "LB_ALGORITHM_"),
		"_", " "))
	switch {
	case said.GetAlgorithm() == dataplanev1.Algorithm_ALGORITHM_CONSISTENT_HASH:
		by += " of the " + strings.ReplaceAll(hashInputs[said.GetHashInput()], "_", " ")
	case said.GetWorkers() > 1:
		by += fmt.Sprintf(" as worker %d of %d sees it", said.GetWorker(), said.GetWorkers())
	}
	return fmt.Sprintf("The pool is %s: %s.", nameOr(t.poolName(said.GetPoolUuid()), said.GetPoolUuid()), by)
}

// rules says whether the client needs a certificate, and which limit and which rules decide and act; empty: none does.
func rules(said *dataplanev1.Explanation) string {
	var decided []string
	if text := network(said.GetRules()); text != "" {
		decided = append(decided, text)
	}
	switch said.GetClientCertificate() {
	case dataplanev1.ClientCertificateMode_CLIENT_CERTIFICATE_MODE_REQUEST:
		decided = append(decided, "the client may show a certificate")
	case dataplanev1.ClientCertificateMode_CLIENT_CERTIFICATE_MODE_REQUIRE:
		decided = append(decided,
			"the client has to show a good certificate, and this is what becomes of one that does")
	}
	if name := said.GetLimit(); name != "" {
		decided = append(decided, fmt.Sprintf("it would be beyond the limit %s", name))
	}
	if most := said.GetThroughputMbps(); most > 0 {
		decided = append(decided, fmt.Sprintf("its bytes count for the limit performance_limits.max_throughput of %d "+
			"Mbit/s, which all clients share on this engine", most))
	}
	if name := said.GetSecurityRule(); name != "" {
		decided = append(decided, fmt.Sprintf("the security rule %s decides", name))
	}
	if name := said.GetAuthenticationRule(); name != "" {
		decided = append(decided, fmt.Sprintf("the authentication rule %s says whether a token is needed", name))
	}
	if name := said.GetAuthorizationRule(); name != "" {
		decided = append(decided, fmt.Sprintf("the authorization rule %s says what the token is good for", name))
	}
	sentences := acts(said)
	if len(decided) > 0 {
		text := strings.Join(decided, ", and ") + "."
		sentences = slices.Insert(sentences, 0, strings.ToUpper(text[:1])+text[1:])
	}
	return strings.Join(sentences, " ")
}

// cacheTold says what the cache makes of the request; empty: there is none, or an answer comes before it.
func cacheTold(said *dataplanev1.Explanation) string {
	switch kind, age := said.GetCache().GetKind(), said.GetCache().GetAgeS(); kind {
	case "":
		return ""
	case "hit":
		return fmt.Sprintf("A stored response, %d s old, would answer: no server is asked.", age)
	case "stale":
		return fmt.Sprintf("A stored response, %d s old, would answer once its server has said that it still holds.",
			age)
	case "miss":
		return "The worker has no stored response that would answer."
	case "changes":
		return "What is stored of it holds no more if its server does what the request asks for."
	default:
		why := cmp.Or(bypasses[kind], "for a reason that this controller does not know")
		return "The cache has nothing to do with the request, " + why + "."
	}
}

var bypasses = map[string]string{
	"bypass_method":    "because of its method",
	"bypass_body":      "because it has a body",
	"bypass_path":      "because query_cacheable is false and it has a query, or uri_non_cacheable matches",
	"bypass_condition": "because it has a condition that only a server can judge",
	"bypass_server":    "because a rule or a script has chosen one server",
	"bypass_unnamed":   "because it names no resource",
}

// servers says how many servers of the pool take requests, why the others do not, and which ones get less than they
// will.
func (t *teller) servers() string {
	said := t.engine.said
	takes := 0
	var others, lesser []string
	shares := map[uint32]bool{}
	for _, standing := range said.GetServers() {
		if standing.GetEligibility() == dataplanev1.Eligibility_ELIGIBILITY_ELIGIBLE {
			takes++
			share := standing.GetSharePercent()
			shares[share] = true
			if share > 0 && share < 100 {
				lesser = append(lesser, fmt.Sprintf("%s gets %d %% of its share, because it has come up lately, "+
					"or some of its responses were errors", standing.GetServerId(), share))
			}
			continue
		}
		other := standing.GetServerId() + " is " + cmp.Or(states[standing.GetEligibility()], "in an unknown state")
		if why := t.whyDown(standing.GetServerId()); why != "" &&
			standing.GetEligibility() == dataplanev1.Eligibility_ELIGIBILITY_DOWN {
			other += " (" + why + ")"
		}
		others = append(others, other)
	}
	of := fmt.Sprint(said.GetServersTotal())
	if listed := len(said.GetServers()); listed < int(said.GetServersTotal()) {
		of = fmt.Sprintf("the first %d of %s", listed, of)
	} else if len(shares) == 1 {
		lesser = nil // they share requests as if each had all of its share
	}
	text := fmt.Sprintf("%d of %s take requests", takes, of)
	if told := append(others, lesser...); len(told) > 0 {
		text += ": " + listed(told)
	}
	return text + "."
}

var pickedFor = map[dataplanev1.Picked]string{
	dataplanev1.Picked_PICKED_BY_ALGORITHM:   "picked by the algorithm",
	dataplanev1.Picked_PICKED_BY_PERSISTENCE: "because the client is bound to it",
	dataplanev1.Picked_PICKED_FOR_TRIAL:      "as a trial: it is suspect, and this request would show whether it answers",
	dataplanev1.Picked_PICKED_AS_LAST:        "because the others take no requests",
}

// waits says that the request would be put into the queue of its pool.
func waits(said *dataplanev1.Explanation) string {
	others := fmt.Sprintf("%d other requests wait", said.GetWaitsBehind())
	switch said.GetWaitsBehind() {
	case 0:
		others = "no other request waits"
	case 1:
		others = "1 other request waits"
	}
	return fmt.Sprintf("The request would wait until a server has fewer connections; %s on worker %d now.", others,
		said.GetWorker())
}

// bound says which server persistence gives, and what becomes of that; empty: the pool binds no clients.
func bound(said *dataplanev1.Explanation) string {
	by, server := boundBy[said.GetBoundBy()], said.GetBoundServerId()
	switch said.GetBond() {
	case dataplanev1.Bond_BOND_KEPT:
		return fmt.Sprintf("%s leads to %s.", by, server)
	case dataplanev1.Bond_BOND_EXPIRED:
		return by + " has expired: the client gets another one."
	case dataplanev1.Bond_BOND_SERVER_DOWN:
		return fmt.Sprintf("%s leads to %s, which is down: %s.", by, server, afterDown(said))
	case dataplanev1.Bond_BOND_SERVER_DISABLED:
		return fmt.Sprintf("%s leads to %s, which is disabled: another server gets the request.", by, server)
	case dataplanev1.Bond_BOND_SERVER_BUSY:
		if said.WaitsBehind != nil {
			return fmt.Sprintf("%s leads to %s, which takes no more requests now.", by, server)
		}
		return fmt.Sprintf("%s leads to %s, which takes no more requests now: another server gets the request.", by,
			server)
	}
	if by == "" {
		return ""
	}
	return by + " leads to no server of the pool: the algorithm picks one."
}

func afterDown(said *dataplanev1.Explanation) string {
	if said.GetServerId() == "" {
		return "no other server may get the request"
	}
	return "another server gets the request"
}

var boundBy = map[dataplanev1.BoundBy]string{
	dataplanev1.BoundBy_BOUND_BY_COOKIE:  "The cookie",
	dataplanev1.BoundBy_BOUND_BY_HEADER:  "The header field",
	dataplanev1.BoundBy_BOUND_BY_ADDRESS: "The client's address",
}

func ownAnswer(said *dataplanev1.Explanation) string {
	text := "The engine would end the connection"
	if said.GetStatus() != 0 {
		text = fmt.Sprintf("The client would get %d", said.GetStatus())
		if said.GetLocation() != "" {
			text += " to " + said.GetLocation()
		}
		text += ", from the engine itself"
	}
	text += ", because of " + said.GetCause()
	if means := cmp.Or(ownCauses[said.GetCause()], record.CauseMeaning(said.GetCause())); means != "" {
		text += ": " + means
	}
	return text + "."
}

// ownCauses are those that are no failures.
var ownCauses = map[string]string{
	"tls_expected":      "the port speaks TLS, and the URL begins with http://",
	"tls_unexpected":    "the port does not speak TLS, and the URL begins with https://",
	"redirect_to_https": "the application profile redirects plain requests (http_to_https)",
	"max_forwards":      "Max-Forwards is 0",
	"security_rule":     "a security rule of an HTTP policy answers",
	"datascript":        "a DataScript answers",
	"request_rule":      "a request rule of an HTTP policy answers",
}
