package web

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestWithoutPagesThereIsOneThatSaysHowToBuildThem(t *testing.T) {
	s, err := open(fstest.MapFS{stub: {Data: []byte("run make build")}})
	if err != nil || s.IsBuilt() {
		t.Fatal(err, s)
	}
	if page, found := s.At("/services"); !found || string(page.Plain) != "run make build" {
		t.Errorf("%v, %q", found, page.Plain)
	}
	if _, found := s.At("/assets/index.js"); found {
		t.Error("a script is there")
	}
}

func TestFilesHaveTheirTypesCodingsAndAges(t *testing.T) {
	s, err := open(fstest.MapFS{
		stub: {}, built + "index.html": {Data: []byte("index")}, built + "theme.js": {Data: []byte("theme")},
		built + "assets/a-1.js":    {Data: []byte("plain")},
		built + "assets/a-1.js.gz": {Data: []byte("gzip")}, built + "assets/a-1.js.br": {Data: []byte("brotli")},
	})
	if err != nil || !s.IsBuilt() {
		t.Fatal(err, s)
	}
	file, found := s.At("/assets/a-1.js")
	if !found || string(file.Plain)+string(file.Gzip)+string(file.Brotli) != "plaingzipbrotli" || !file.Hashed ||
		file.Type != "text/javascript; charset=utf-8" {
		t.Errorf("%v, %+v", found, file)
	}
	if file, found := s.At("/theme.js"); !found || file.Hashed || file.Gzip != nil {
		t.Errorf("%v, %+v", found, file)
	}
	for target, want := range map[string]bool{"/": true, "/services/a": true, "/services/a.js": false, "/.env": false} {
		if file, found := s.At(target); found != want || found && string(file.Plain) != "index" {
			t.Errorf("%s: %v, %q", target, found, file.Plain)
		}
	}
}

func TestTheStubSaysWhatToRun(t *testing.T) {
	page, err := dist.ReadFile(stub)
	if err != nil || !strings.Contains(string(page), "make build") {
		t.Errorf("%v, %s", err, page)
	}
}
