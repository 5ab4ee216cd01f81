package explain

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/logs/story"
)

// told are the stages of an answer as lines, as a user of one tells of the engine one.
func (s *stage) told(said *dataplanev1.Explanation, sees func(string) bool) string {
	s.Helper()
	s.answers = func(string, *dataplanev1.Question) *dataplanev1.Explanation { return said }
	var lines []string
	stages, _ := s.explain(ask("shop.test"), sees)["one"]["stages"].([]story.Stage)
	for _, one := range stages {
		lines = append(lines, one.Name+": "+one.Text)
	}
	return strings.Join(lines, "\n")
}

func TestEachEngineTellsASentenceForEachStage(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one")
	s.Judge("se-one", "10.0.0.1:80", false, "HTTP 500")
	for want, said := range map[string]*dataplanev1.Explanation{
		`client: 192.0.2.1:50000 would connect to 10.9.0.1:443, the virtual service web; its child vs-gone, chosen by vh_matches, gets the request.
engine: Worker 0 of the engine one answers, by revision 11 of its configuration, the newest.
pool: The pool is web-pool: least connections as worker 0 of 2 sees it.
servers: 1 of the first 3 of 9 take requests: 10.0.0.1:80 is down (HTTP 500), 10.0.0.3:80 is disabled, 10.0.0.2:80 gets 40 % of its share, because it has come up lately, or some of its responses were errors.
server: The server would be 10.0.0.2:80, because the client is bound to it.
connection: The client would be asked to connect to another engine afterwards.`: {
			Revision: 11, Workers: 2, VirtualServiceUuid: "vs-1", ChildUuid: "vs-gone",
			ChildChosen: dataplanev1.Chosen_CHOSEN_BY_REQUEST, Drains: true, PoolUuid: "pool-1",
			Algorithm: dataplanev1.Algorithm_ALGORITHM_LEAST_CONNECTIONS,
			ServerId:  "10.0.0.2:80", Picked: dataplanev1.Picked_PICKED_BY_PERSISTENCE, ServersTotal: 9,
			Servers: []*dataplanev1.Standing{
				{ServerId: "10.0.0.1:80", Eligibility: dataplanev1.Eligibility_ELIGIBILITY_DOWN},
				{ServerId: "10.0.0.2:80", Eligibility: dataplanev1.Eligibility_ELIGIBILITY_ELIGIBLE, SharePercent: 40},
				{ServerId: "10.0.0.3:80", Eligibility: dataplanev1.Eligibility_ELIGIBILITY_DISABLED}}},
		`client: 192.0.2.1:50000 would connect to 10.9.0.1:443, the virtual service web.
engine: Worker 0 of the engine one answers, by revision 3 of its configuration, the newest.
pool: The pool is web-pool: consistent hash of the client address.
servers: 1 of 1 take requests.
response: The engine would end the connection, because of no_server: every server was down, disabled, full or already tried.`: {
			Revision: 3, Workers: 2, VirtualServiceUuid: "vs-1", PoolUuid: "pool-1", Cause: "no_server",
			Algorithm: dataplanev1.Algorithm_ALGORITHM_CONSISTENT_HASH,
			HashInput: dataplanev1.HashInput_HASH_INPUT_SOURCE_ADDRESS, ServersTotal: 1,
			Servers: []*dataplanev1.Standing{{Eligibility: dataplanev1.Eligibility_ELIGIBILITY_ELIGIBLE,
				SharePercent: 40}}},
		`client: 192.0.2.1:50000 would connect to 10.9.0.1:443, the virtual service web.
engine: Worker 0 of the engine one answers, by revision 0 of its configuration, the newest.
response: The client would get 301 to https://a/, from the engine itself, because of redirect_to_https: the application profile redirects plain requests (http_to_https).`: {
			VirtualServiceUuid: "vs-1", Status: 301, Cause: "redirect_to_https", Location: "https://a/"},
		`client: 192.0.2.1:50000 would connect to 10.9.0.1:443, the virtual service web.
engine: Worker 0 of the engine one answers, by revision 0 of its configuration, the newest.
rules: The security rule office decides. The request rule old of house redirects to https://a/new with 302.
response: The client would get 302 to https://a/new, from the engine itself, because of request_rule: a request rule of an HTTP policy answers.`: {
			VirtualServiceUuid: "vs-1", SecurityRule: "office", Status: 302,
			Cause: "request_rule", Location: "https://a/new", Rules: &dataplanev1.RulesTold{
				RequestRules: []*dataplanev1.RuleTold{{PolicySet: "house", Name: "old", Status: 302,
					Location: "https://a/new"}}, RequestRulesTotal: 1}},
		`client: 192.0.2.1:50000 would get no connection: the engine does not listen at 10.9.0.1:443. The state of web says why.
engine: Worker 0 of the engine one answers, by revision 0 of its configuration, the newest.`: {},
		"engine: No answer from the engine one: its data plane does not run.": {Error: "its data plane does not run"},
	} {
		if got := s.told(said, everything); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestStagesSayWhichServerPersistenceGivesAndWhatBecomesOfThat(t *testing.T) {
	s := newStage(t)
	for want, said := range map[string]*dataplanev1.Explanation{
		"persistence: The cookie leads to a:80.": {
			BoundBy: dataplanev1.BoundBy_BOUND_BY_COOKIE, Bond: dataplanev1.Bond_BOND_KEPT},
		"persistence: The cookie has expired: the client gets another one.": {
			BoundBy: dataplanev1.BoundBy_BOUND_BY_COOKIE, Bond: dataplanev1.Bond_BOND_EXPIRED},
		"persistence: The header field leads to a:80, which is disabled: another server gets the request.": {
			BoundBy: dataplanev1.BoundBy_BOUND_BY_HEADER, Bond: dataplanev1.Bond_BOND_SERVER_DISABLED},
		"persistence: The client's address leads to a:80, which is down: no other server may get the request.": {
			BoundBy: dataplanev1.BoundBy_BOUND_BY_ADDRESS, Bond: dataplanev1.Bond_BOND_SERVER_DOWN},
		"persistence: The cookie leads to no server of the pool: the algorithm picks one.": {
			BoundBy: dataplanev1.BoundBy_BOUND_BY_COOKIE},
	} {
		said.VirtualServiceUuid, said.PoolUuid, said.BoundServerId = "vs-1", "pool-1", "a:80"
		s.Contains(s.told(said, everything), want)
	}
	if got := s.told(&dataplanev1.Explanation{VirtualServiceUuid: "vs-1", PoolUuid: "pool-1"},
		everything); strings.Contains(got, "persistence") {
		t.Error(got)
	}
}

func TestStagesSayThatARequestWouldWait(t *testing.T) {
	s := newStage(t)
	for behind, want := range []string{
		"queue: The request would wait until a server has fewer connections; no other request waits on worker 3 now.",
		"queue: The request would wait until a server has fewer connections; 1 other request waits on worker 3 now.",
		"queue: The request would wait until a server has fewer connections; 2 other requests wait on worker 3 now.",
	} {
		said := &dataplanev1.Explanation{VirtualServiceUuid: "vs-1", PoolUuid: "pool-1", Worker: 3,
			WaitsBehind: proto.Uint32(uint32(behind)), BoundServerId: "a:80",
			BoundBy: dataplanev1.BoundBy_BOUND_BY_COOKIE, Bond: dataplanev1.Bond_BOND_SERVER_BUSY}
		s.Contains(s.told(said, everything), want)
		s.Contains(s.told(said, everything), "persistence: The cookie leads to a:80, which takes no more requests now.")
	}
}

func TestStagesSayThatAPlanIsNotTheNewest(t *testing.T) {
	s := newStage(t)
	s.Contains(s.told(&dataplanev1.Explanation{Revision: 3, VirtualServiceUuid: "vs-1"}, everything),
		"revision 3 of its configuration, which is NOT the newest: ask again when the engine has that.")
}

func TestStagesDoNotTellOfAChildThatTheUserMayNotRead(t *testing.T) {
	s := newStage(t)
	got := s.told(&dataplanev1.Explanation{VirtualServiceUuid: "vs-1", ChildUuid: "vs-secret", PoolUuid: "pool-1",
		ServerId: "10.0.0.1:80"}, func(uuid string) bool { return uuid == "vs-1" })
	if got != "client: The request is for a virtual service that you may not read." {
		t.Error(got)
	}
}

func TestStagesSayThatTheResponseIsRewritten(t *testing.T) {
	s := newStage(t)
	said := &dataplanev1.Explanation{VirtualServiceUuid: "vs-1", IsRewritten: true}
	s.Contains(s.told(said, everything), "rewriting: Texts are replaced in the response, ")
}

func TestStagesSayWhatTheCacheMakesOfARequest(t *testing.T) {
	s := newStage(t)
	for kind, want := range map[string]string{
		"hit":         "cache: A stored response, 7 s old, would answer: no server is asked.",
		"stale":       "cache: A stored response, 7 s old, would answer once its server has said that it still holds.",
		"miss":        "cache: The worker has no stored response that would answer.",
		"bypass_body": "cache: The cache has nothing to do with the request, because it has a body.",
		"bypass_new": "cache: The cache has nothing to do with the request, for a reason that this controller " +
			"does not know.",
	} {
		said := &dataplanev1.Explanation{VirtualServiceUuid: "vs-1", Cache: &dataplanev1.CacheTold{Kind: kind, AgeS: 7}}
		s.Contains(s.told(said, everything), want)
	}
	if got := s.told(&dataplanev1.Explanation{VirtualServiceUuid: "vs-1"},
		everything); strings.Contains(got, "cache:") {
		t.Error(got)
	}
}

func TestStagesTellTheLimitOfThroughputAndTheRulesOfAccess(t *testing.T) {
	s := newStage(t)
	s.Contains(s.told(&dataplanev1.Explanation{VirtualServiceUuid: "vs-1", ThroughputMbps: 200}, everything),
		"rules: Its bytes count for the limit performance_limits.max_throughput of 200 Mbit/s, which all clients share")
	s.Contains(s.told(&dataplanev1.Explanation{VirtualServiceUuid: "vs-1", AuthenticationRule: "a",
		AuthorizationRule: "b"}, everything), "rules: The authentication rule a says whether a token is needed, and "+
		"the authorization rule b says what the token is good for.")
}
