package store

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// anyChanges are some puts and deletions of few objects.
func anyChanges(random *rand.Rand) []change {
	changes := make([]change, 1+random.IntN(3))
	for i := range changes {
		kind, uuid := []string{"pool", "vsvip"}[random.IntN(2)], fmt.Sprintf("uuid-%d", random.IntN(6))
		changes[i] = change{kind: kind, uuid: uuid}
		if random.IntN(3) > 0 {
			changes[i].record = &Record{Kind: kind, UUID: uuid, Name: fmt.Sprint(random.IntN(3))}
		}
	}
	return changes
}

func contents(v *View) map[written]*Record {
	all := map[written]*Record{}
	for _, kind := range v.Kinds() {
		for _, record := range v.List(kind) {
			all[written{kind, record.UUID}] = record
		}
	}
	return all
}

func TestSinceLeadsFromAnyViewToAnyOther(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		views := []*View{nil, emptyView()}
		for i := range 20 { // also views that were made of one and the same, as a transaction's and what came of it
			views = append(views, views[1+random.IntN(len(views)-1)].with(int64(i), anyChanges(random)))
		}
		last := views[len(views)-1]
		for range stagesMax * random.IntN(2) {
			last = last.with(1, anyChanges(random))
		}
		for _, former := range append(views, last) {
			for _, view := range append(views[1:], last) {
				all := map[written]*Record{}
				if former != nil {
					all = contents(former)
				}
				for _, c := range view.Since(former) {
					key := written{c.Kind, c.UUID}
					if all[key] == c.Record {
						t.Fatalf("seed %d: %v is told of, and has not changed", seed, key)
					}
					if all[key] = c.Record; c.Record == nil {
						delete(all, key)
					}
				}
				if want := contents(view); fmt.Sprint(all) != fmt.Sprint(want) {
					t.Fatalf("seed %d: %v, want %v", seed, all, want)
				}
			}
		}
	}
}

func TestSinceLooksAtNothingElseThanWhatWasWritten(t *testing.T) {
	changes := make([]change, 1000)
	for i := range changes {
		uuid := fmt.Sprint(i)
		changes[i] = change{"pool", uuid, &Record{Kind: "pool", UUID: uuid}}
	}
	before := emptyView().with(1, changes)
	after := before.with(2, []change{{kind: "pool", uuid: "7"}}).with(3, []change{{"pool", "8", &Record{}}})
	if looked := len(after.differing(before)); looked != 2 {
		t.Errorf("it looked at %d objects", looked)
	}
	if looked := len(before.differing(after)); looked != 2 {
		t.Errorf("backwards it looked at %d objects", looked)
	}
}
