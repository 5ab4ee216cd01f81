package model

import (
	"strings"
	"testing"
)

func TestPurgesAreNumberedAndBounded(t *testing.T) {
	var purges *Purges
	one := []Purge{{Path: "/a"}}
	for i := range uint64(purgesMost) {
		if purges = purges.With(one); purges.All != 0 || purges.URIs[i].Number != i+1 {
			t.Fatalf("%+v", purges)
		}
	}
	full := purges
	if purges = purges.With(one); purges.All != purgesMost+2 || len(purges.URIs) != 0 {
		t.Errorf("one too many purges all: %+v", purges)
	}
	if len(full.URIs) != purgesMost {
		t.Error("earlier purges were changed")
	}
	if next := purges.With(one); next.URIs[0].Number != purges.Last+1 || next.All != purges.All {
		t.Errorf("%+v", next)
	}
	if all := full.With(nil); all.All != full.Last+1 || all.URIs != nil {
		t.Errorf("%+v", all)
	}
}

func TestPurgeIsReadFromAURI(t *testing.T) {
	for uri, want := range map[string]Purge{
		"Shop.test/A?b":           {Host: "shop.test", Path: "/A?b"},
		"HTTPS://shop.test:1/a":   {Host: "shop.test:1", Path: "/a"},
		"/a":                      {Path: "/a"},
		"https://shop.test:443/a": {Host: "shop.test", Path: "/a"},
		"http://shop.test:80/a":   {Host: "shop.test", Path: "/a"},
		"shop.test:443/a":         {Host: "shop.test:443", Path: "/a"},
		"[2001:db8::1]:8080/a":    {Host: "[2001:db8::1]:8080", Path: "/a"},
	} {
		if got, err := ParsePurge(uri, false); err != nil || got != want {
			t.Errorf("%s: %+v, %v", uri, got, err)
		}
	}
	for _, uri := range []string{"", "shop.test", "https://shop.test", "/a b", "/ä", "/a#b", "/\r\n",
		"htps://shop.test/a", "me@shop.test/a", "shop.test?x/a", "shop.test:/a", "shop.test:https/a",
		"[shop]/a", ":80/a",
		"/" + strings.Repeat("a", purgeBytesMost)} {
		if _, err := ParsePurge(uri, false); err == nil {
			t.Errorf("%q is read", uri)
		}
	}
}
