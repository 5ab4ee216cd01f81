package schema

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// searchedAsJSON searches in the simple way: it hides the secrets in a copy, writes the copy as JSON, and looks for the
// text.
func searchedAsJSON(k *Kind, o Object, text string, fold bool) bool {
	body, err := json.Marshal(k.Redact(o))
	must("search", err)
	if fold {
		return strings.Contains(strings.ToLower(string(body)), strings.ToLower(text))
	}
	return strings.Contains(string(body), text)
}

// searchedKinds have secrets at the top, in objects and in lists. The texts below occur in their objects.
var searchedKinds = []string{"healthmonitor", "sslkeyandcertificate", "vrfcontext",
	"applicationpersistenceprofile", "user", "pool"}

var searchedNames = []string{"authentication", "username", "password", "key", "key_passphrase", "certificate",
	"bgp_profile", "peers",
	"md5_secret", "peer_ip", "addr", "http_cookie_persistence_profile", "aes_key", "name", "enabled", "a<b", "Größe"}

var searchedTexts = []string{"", "web", "10.0.0.1:80", "Secret PEM", "true", "line\nline", `say "x"`, `back\slash`,
	"<sensitive>", "a&b",
	"ÄÖÜ", "\u2028", "K", "broken \xff", "-1", "1e3", "\x7f"}

func randomObject(r *rand.Rand, depth int) Object {
	o := Object{}
	for range r.IntN(6) {
		o[searchedNames[r.IntN(len(searchedNames))]] = randomValue(r, depth)
	}
	return o
}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(10); {
	case n < 2 && depth > 0:
		return randomObject(r, depth-1)
	case n < 4 && depth > 0:
		list := make([]any, r.IntN(3))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	case n == 4:
		return int64(r.IntN(2000) - 1000)
	case n == 5:
		return []any{true, false, nil, 4.5, 1e21, int64(1e15)}[r.IntN(6)]
	}
	return searchedTexts[r.IntN(len(searchedTexts))]
}

// randomText often returns a piece of the object's JSON, with or without secrets. The piece may begin in one field and
// end in another.
func randomText(r *rand.Rand, k *Kind, o Object) string {
	if r.IntN(4) == 0 {
		return searchedTexts[r.IntN(len(searchedTexts))]
	}
	if r.IntN(2) == 0 {
		o = k.Redact(o)
	}
	body, err := json.Marshal(o)
	must("search", err)
	from := r.IntN(len(body))
	text := string(body[from : from+r.IntN(min(12, len(body)-from)+1)])
	if r.IntN(4) == 0 {
		text = strings.ToUpper(text)
	}
	return text
}

func TestFindsWhatASearchOfTheJSONFinds(t *testing.T) {
	r, found := rand.New(rand.NewPCG(1, 2)), 0
	const rounds = 60000
	for range rounds {
		k := kindByName[searchedKinds[r.IntN(len(searchedKinds))]]
		o := randomObject(r, 4)
		text, fold := randomText(r, k, o), r.IntN(2) == 0
		want := searchedAsJSON(k, o, text, fold)
		if got := k.Search(text, fold)(o); got != want {
			body, _ := json.Marshal(k.Redact(o))
			t.Fatalf("%s %s: %q (valid UTF-8: %t), fold %t: found %t, in the JSON %t", k.Name, body, text,
				utf8.ValidString(text), fold, got, want)
		}
		if want {
			found++
		}
	}
	if found < rounds/4 || found > rounds*9/10 {
		t.Errorf("%d of %d searches found something: the texts are not of both sorts", found, rounds)
	}
}

func TestWritesJSONAsTheStandardLibraryDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		value := any(randomObject(r, 4))
		if r.IntN(2) == 0 {
			value = Object{"results": []Object{randomObject(r, 2), randomObject(r, 2)}, "next": nil, "none": []any(nil),
				"nothing": Object(nil),
				"count":   2, "warnings": []Warning{{"a", "b"}}}
		}
		want, err := json.Marshal(value)
		must("json", err)
		if got := AppendJSON(nil, value); string(got) != string(want) {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestWritesValuesThatObjectsDoNotHaveAsTheStandardLibraryDoes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", -5400))
	for _, value := range []any{
		uint64(math.MaxUint64), uint32(7), int8(-1), 1e21, 0.1, at, []time.Time{at}, json.Number("1.0"),
		map[string]any{"b": 1, "a": "<&>"}, map[string]int{"b": 1, "a": 2}, map[int64]string{10: "x", 9: "y"},
		map[string]any(nil), []string(nil), []string{"é", "\x7f\u2028"}, struct{}{},
		Object{"at": at, "count": uint64(1 << 63), "by": map[string][]int{"z": nil, "a": {1}}},
	} {
		want, err := json.Marshal(value)
		must("json", err)
		if got := AppendJSON([]byte("before "), value); string(got) != "before "+string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestShowsOneFieldAsTheWholeObjectShowsIt(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		k := kindByName[searchedKinds[r.IntN(len(searchedKinds))]]
		o := randomObject(r, 4)
		hidden := k.Redact(o)
		for _, name := range searchedNames {
			want, err := json.Marshal(hidden[name])
			must("show", err)
			got, err := json.Marshal(k.Shown(o, name))
			must("show", err)
			if string(got) != string(want) {
				t.Fatalf("%s.%s: %s, want %s", k.Name, name, got, want)
			}
			if whole, err := json.Marshal(o[name]); err != nil || string(whole) != string(want) && !k.Hides(name) {
				t.Fatalf("%s.%s has a secret, which Hides does not say", k.Name, name)
			}
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	k := kindByName["virtualservice"]
	o, err := k.Decode([]byte(`{"name":"service-0042","vsvip_ref":"/api/vsvip/vip-1","pool_ref":"/api/pool/pool-1",
		"services":[{"port":80},{"port":443,"enable_ssl":true}],"analytics_policy":{"full_client_logs":{"enabled":true}}}`))
	must("search", err)
	k.Fill(o)
	for name, way := range map[string]func() bool{
		"as-json": func() bool { return searchedAsJSON(k, o, "service-0043", false) },
		"walk":    searchOf(k, o, "service-0043", false),
		"fold":    searchOf(k, o, "service-0043", true),
		"spans":   searchOf(k, o, `"service-0043"`, false),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if way() {
					b.Fatal("found what is not there")
				}
			}
		})
	}
}

func searchOf(k *Kind, o Object, text string, fold bool) func() bool {
	search := k.Search(text, fold)
	return func() bool { return search(o) }
}
