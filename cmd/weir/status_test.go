package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// golden compares with a file in testdata; WEIR_GOLDEN=write writes it anew.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := "testdata/" + file
	if os.Getenv("WEIR_GOLDEN") == "write" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func house(t *testing.T) (seen overview) {
	t.Helper()
	text, err := os.ReadFile("testdata/house.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &seen); err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestStatusTellsAtOneGlance(t *testing.T) {
	var out bytes.Buffer
	if err := house(t).print(&out, noon); err != nil {
		t.Fatal(err)
	}
	golden(t, "status.txt", out.Bytes())
}

func TestStatusOfAnEmptyHouseSaysHowToBegin(t *testing.T) {
	var out bytes.Buffer
	seen := house(t)
	seen.Engines, seen.VirtualServices, seen.Pools = nil, nil, nil
	if err := seen.print(&out, noon); err != nil {
		t.Fatal(err)
	}
	golden(t, "status_of_empty_house.txt", out.Bytes())
}
