package kinds

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const callingScript = `-- avi.http.disable() in a comment
local text = "avi.http.disable()"
if avi.http.get_path() == "/" then
  avi.pool.select("blue")
else
  avi.pool.select("nopool", "10.0.0.1", 80)
end
local function late()
  return { avi.http.disable(), avi.vs.analytics.counter("x", avi.USE_SE, 1) }
end
for _, name in ipairs(names) do avi.pool.select(name) end
avi.pool.select("no" .. "pool")
local found = avi.stringgroup.equals_CASE("words", text) or avi.ipgroup.contains("office", avi.vs.client_ip())
if avi.vs.ratelimit.exceed("often", "x") or avi.vs.ratelimit.exceed("rarely", "x") then avi.poolgroup.select "all" end
return avi.http["saml_session_cookie"]()`

func TestCallsInScriptsThatRaiseErrorsAreFound(t *testing.T) {
	set := VSDataScriptSet{Scripts: []VSDataScript{{Script: "avi.vs.log('x')"}, {Script: callingScript}},
		PoolRefs: []string{"/api/pool/1"}, StringGroupRefs: []string{"/api/stringgroup/1"},
		RateLimiters: []RateLimiter{{Name: "rarely"}}}
	names := map[string]string{"/api/pool/1": "blue", "/api/stringgroup/1": "words"}
	var got []string
	for _, kept := range slices.Concat(set.Idle(), set.Misnamed(func(ref string) string { return names[ref] })) {
		got = append(got, fmt.Sprintf("%s %s", kept.Field, kept.Why))
	}
	const at = "datascript[1].script line "
	want := []string{
		at + "9: avi.http.disable raises an error, because engines do not serve it: " + whyUnserved("avi.http.disable"),
		at + "9: avi.vs.analytics.counter raises an error, because engines do not serve it: " +
			whyUnserved("avi.vs.analytics.gauge"),
		at + "15: avi.http.saml_session_cookie raises an error, because engines do not serve it: Weir has no SAML",
		at + `14: avi.vs.ratelimit.exceed raises an error, because rate_limiters has no "often"`,
		at + `6: avi.pool.select raises an error, because pool_refs has no "nopool"`,
		at + `13: avi.ipgroup.contains raises an error, because ipgroup_refs has no "office"`,
		at + `14: avi.poolgroup.select raises an error, because pool_group_refs has no "all"`,
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestUnservedFunctionsAreThoseOfEngines(t *testing.T) {
	const file = "dataplane/script/src/avi/unserved.rs"
	source, err := os.ReadFile("../../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(source), "];")
	want := []string{"avi.vs.analytics."} // a table, not a function
	for _, row := range regexp.MustCompile(`(?s)"(avi\.[a-z0-9]+)",\s*"([^"]*)"`).FindAllStringSubmatch(table, -1) {
		for _, name := range strings.Fields(strings.ReplaceAll(row[2], "\\\n", " ")) {
			want = append(want, row[1]+"."+name)
		}
	}
	var got []string
	for _, unserved := range unservedFunctions {
		if unserved.names == "" {
			got = append(got, unserved.table+".")
		}
		for _, name := range strings.Fields(unserved.names) {
			got = append(got, unserved.table+"."+name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("unservedFunctions has\n%v\nand %s\n%v", got, file, want)
	}
}
