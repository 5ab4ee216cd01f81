package fleet

import (
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

func agreements(total uint64, of ...*dataplanev1.TlsRow) *dataplanev1.VirtualServiceCounters {
	return &dataplanev1.VirtualServiceCounters{TlsHandshakesTotal: total, Tls: &dataplanev1.TlsCounters{Rows: of}}
}

func TestHandshakesAreCountedByWhatTheyAgreedOn(t *testing.T) {
	full := &dataplanev1.TlsRow{Version: "TLS 1.3", CipherSuite: "TLS_AES_128_GCM_SHA256", Group: "X25519", Key: "RSA",
		Total: 5}
	resumed := &dataplanev1.TlsRow{Version: "TLS 1.2", CipherSuite: "TLS_A", Resumed: true, Total: 2}
	then := agreements(3, &dataplanev1.TlsRow{Version: "TLS 1.3", CipherSuite: "TLS_AES_128_GCM_SHA256",
		Group: "X25519", Key: "RSA", Total: 3})
	now := agreements(7, resumed, full)
	now.Tls.OthersTotal = 4
	found := map[Handshakes]count{}
	for _, c := range handshakes(now, then) {
		of, is := HandshakesOf(c.name)
		if !is {
			t.Fatalf("%q", c.name)
		}
		found[of] = c
	}
	for of, want := range map[Handshakes][2]uint64{
		{"TLS 1.3", "TLS_AES_128_GCM_SHA256", "X25519", "RSA", "false"}: {5, 3},
		{"TLS 1.2", "TLS_A", "", "", "true"}:                            {2, 0},
		{Other, Other, Other, Other, Other}:                             {4, 0},
	} {
		if got := found[of]; got.now != want[0] || got.then != want[1] {
			t.Errorf("%v: %d, then %d; want %v", of, got.now, got.then, want)
		}
	}
	if len(found) != 3 {
		t.Errorf("%v", found)
	}
}

func TestHandshakesOfAnEngineThatDoesNotTellAreOthers(t *testing.T) {
	counts := handshakes(&dataplanev1.VirtualServiceCounters{TlsHandshakesTotal: 9}, nil)
	if len(counts) != 1 || counts[0].now != 9 {
		t.Fatalf("%v", counts)
	}
	if of, _ := HandshakesOf(counts[0].name); of.Version != Other {
		t.Errorf("%v", of)
	}
}

func TestACounterOfSomethingElseIsNoCounterOfHandshakes(t *testing.T) {
	for _, name := range []string{"tls_handshakes", "requests", "tls_handshakes/a/b", "errors_client_tls"} {
		if of, is := HandshakesOf(name); is {
			t.Errorf("%q: %v", name, of)
		}
	}
}

func TestNamesFromAnEngineCannotBeTakenForOtherNames(t *testing.T) {
	row := &dataplanev1.TlsRow{Version: "a/b/c/d/e", CipherSuite: "f/", Total: 1}
	of, is := HandshakesOf(handshakes(agreements(1, row), nil)[0].name)
	if want := (Handshakes{"a_b_c_d_e", "f_", "", "", "false"}); !is || of != want {
		t.Errorf("%v", of)
	}
}

func TestRequestsAndLocalResponsesAreCountedByKind(t *testing.T) {
	now := &dataplanev1.VirtualServiceCounters{RequestsByMethodTotal: []uint64{7, 0, 2, 0, 0, 0, 0, 0, 1, 99},
		LocalResponsesByClassTotal: []uint64{0, 0, 3, 0, 1}}
	then := &dataplanev1.VirtualServiceCounters{RequestsByMethodTotal: []uint64{4}}
	found := map[string]count{}
	for _, c := range serviceCounts(now, then) {
		found[c.name] = c
	}
	want := map[string]uint64{"requests_get": 7, "requests_post": 2, "requests_other": 1, "local_responses_3xx": 3,
		"local_responses_5xx": 1}
	for name, total := range want {
		if found[name].now != total {
			t.Errorf("%s: %v, want %d", name, found[name], total)
		}
	}
	if _, isThere := found["requests_head"]; isThere || found["requests_get"].then != 4 {
		t.Errorf("%v", found)
	}
}
