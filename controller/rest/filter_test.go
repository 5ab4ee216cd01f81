package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func TestListsAreFiltered(t *testing.T) {
	c := newHouse(t).login()
	a, b := c.pool("pool a"), c.pool("Pool B")
	c.want(http.StatusOK, "PATCH", path(b), schema.Object{"add": schema.Object{"created_by": "test",
		"description": "Find me"}})
	vs := c.virtualService("v", a["uuid"])
	uuidA, uuidB := a["uuid"].(string), b["uuid"].(string)
	for query, want := range map[string]string{
		"name=pool+a":                    "pool a",
		"name=pool a":                    "pool a",
		"name=pool%20a&name=other":       "pool a",
		"name.contains=pool":             "pool a",
		"name.icontains=pool":            "Pool B,pool a",
		"name.in=pool a,Pool B,none":     "Pool B,pool a",
		"uuid=" + uuidB:                  "Pool B",
		"uuid.in=" + uuidA + "," + uuidB: "Pool B,pool a",
		"exclude=" + uuidA:               "Pool B",
		"search=Find":                    "Pool B",
		"search=find":                    "",
		"isearch=find":                   "Pool B",
		"search=(description,Find)":      "Pool B",
		"search=(,Find)":                 "Pool B",
		"search=(,find)":                 "",
		"isearch=(,find)":                "Pool B",
		"created_by=test":                "Pool B",
		"cloud_ref.name=Default-Cloud":   "Pool B,pool a",
		"cloud_ref.name=Other":           "",
		"cloud=Default-Cloud":            "Pool B,pool a",
		"cloud_uuid=none":                "",
		"servers.ip.addr=10.0.0.1":       "Pool B,pool a",
		"default_server_port=80":         "Pool B,pool a",
		"enabled=true":                   "Pool B,pool a",
		"no_such_field=x":                "",
		"no_such_ref.name=x":             "",
		"referred_by=virtualservice:" + vs["uuid"].(string): "pool a",
		"referred_by=virtualservice:unknown":                "",
		"sort=name":                                         "Pool B,pool a",
		"sort=-name":                                        "pool a,Pool B",
		"tenant=admin":                                      "Pool B,pool a",
		"fields=name&skip_default":                          "Pool B,pool a",
	} {
		if got := names(c.want(http.StatusOK, "GET", "/api/pool?"+query, nil)); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if got := names(c.want(http.StatusOK, "GET", "/api/virtualservice?refers_to=pool:"+uuidA, nil)); got != "v" {
		t.Errorf("refers_to: %q", got)
	}
	for _, bad := range []string{"page=0", "page=x", "page_size=-1", "limit_by=0", "refers_to=x",
		"referred_by=x", "search=(x"} {
		c.refused(http.StatusBadRequest, strings.SplitN(bad, "=", 2)[0], "GET", "/api/pool?"+bad, nil)
	}
	c.refused(http.StatusForbidden, "does not exist", "GET", "/api/pool?tenant=none", nil)
}

func TestSecretsAreNotGuessedByFiltering(t *testing.T) {
	c := newHouse(t).login()
	for _, query := range []string{"key.contains=PRIVATE", "search=PRIVATE", "search=(key,PRIVATE)",
		"key.icontains=private"} {
		if found := c.want(http.StatusOK, "GET", "/api/sslkeyandcertificate?"+query, nil); found["count"] != 0.0 {
			t.Errorf("%s finds %v", query, names(found))
		}
	}
	if found := c.want(http.StatusOK, "GET", "/api/user?password.contains=argon2id", nil); found["count"] != 0.0 {
		t.Errorf("the hash of a password is found")
	}
}

func names(list schema.Object) string {
	var found []string
	for _, item := range list["results"].([]any) {
		found = append(found, item.(schema.Object)["name"].(string))
	}
	return strings.Join(found, ",")
}

func TestPagesFollowEachOtherToTheEnd(t *testing.T) {
	c := newHouse(t).login()
	const total = 7
	for i := range total {
		c.pool(fmt.Sprint("p", i))
	}
	seen := ""
	for target, pages := "/api/pool?page_size=3&include_name", 0; target != ""; pages++ {
		list := c.want(http.StatusOK, "GET", target, nil)
		if list["count"] != float64(total) || pages > total {
			t.Fatalf("%s: count %v", target, list["count"])
		}
		seen += names(list) + ";"
		next, _ := list["next"].(string)
		target = strings.TrimPrefix(next, "https://"+testHost)
	}
	if seen != "p0,p1,p2;p3,p4,p5;p6;" {
		t.Errorf("pages: %s", seen)
	}
	if beyond := c.want(http.StatusOK, "GET", "/api/pool?page=99", nil); beyond["count"] != float64(total) ||
		names(beyond) != "" {
		t.Errorf("beyond the end: %v", beyond)
	}
}

func TestLimitEndsTheListHoweverManyPagesItHas(t *testing.T) {
	c := newHouse(t).login()
	for i := range 7 {
		c.pool(fmt.Sprint("p", i))
	}
	for query, want := range map[string]string{"limit_by=2": "p0,p1", "limit_by=2&sort=-name": "p6,p5",
		"limit_by=4&page_size=3&page=2": "p3", "limit_by=99&page=2&page_size=6": "p6"} {
		list := c.want(http.StatusOK, "GET", "/api/pool?"+query, nil)
		if got := names(list); got != want || list["next"] != nil {
			t.Errorf("%s: %q, want %q; next %v", query, got, want, list["next"])
		}
	}
	if list := c.want(http.StatusOK, "GET", "/api/pool?limit_by=4&page_size=3", nil); list["count"] != 4.0 ||
		list["next"] == nil {
		t.Errorf("count %v, next %v", list["count"], list["next"])
	}
}

func TestEmptyListHasNoNext(t *testing.T) {
	c := newHouse(t).login()
	answer := strings.TrimSpace(c.do("GET", "/api/pool", nil).Body.String())
	if answer != `{"count":0,"results":[]}` {
		t.Errorf("got %s", answer)
	}
}

func TestFieldsChoosesAndKeepsWhoTheObjectIs(t *testing.T) {
	c := newHouse(t).login()
	shown := c.want(http.StatusOK, "GET", path(c.pool("p"))+"?fields=enabled", nil)
	if len(shown) != 4 || shown["enabled"] != true || shown["name"] != "p" || shown["uuid"] == nil ||
		shown["url"] == nil {
		t.Errorf("got %v", shown)
	}
}

func FuzzQueryNeverPanicsAndPagesStayInBounds(f *testing.F) {
	for _, seed := range []string{"", "?name=x&", "page=2&page_size=3", "name=%zz&=&&", "page=99999999999999999999",
		"page_size=2147483647&page=2147483647"} {
		f.Add(seed, 10)
	}
	f.Fuzz(func(t *testing.T, raw string, total int) {
		query, err := parseQuery(raw)
		if err != nil {
			return
		}
		page, err := parsePage(query)
		if err != nil {
			return
		}
		total = max(total, 0)
		if from, to := page.bounds(total); from < 0 || from > to || to > total {
			t.Errorf("%q of %d: %d to %d", raw, total, from, to)
		}
		if page.hasNext(total) != (page.number*page.size < total) {
			t.Errorf("%q of %d: next page is wrong", raw, total)
		}
		if _, err := url.ParseQuery(query.Encode()); err != nil {
			t.Errorf("%q is not written back: %v", raw, err)
		}
		if _, err := parseFilters(emptyView(), poolKind(), query, nil); err != nil {
			if _, said := err.(*badQuery); !said {
				t.Errorf("%q: %v", raw, err)
			}
		}
	})
}
