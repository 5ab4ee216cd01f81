package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Rulebook is a kind that nothing but this file knows.
type Rulebook struct {
	kinds.Identity
	kinds.Named
	kinds.Owned
	Edition  uint32    `json:"edition" default:"1"`
	Medium   string    `json:"medium"`
	PoolRef  string    `json:"pool_ref" ref:"pool"`
	Chapters []Chapter `json:"chapters"`
}

type Chapter struct {
	Title string `json:"title" required:"true"`
}

func init() {
	schema.Register[Rulebook](schema.Definition{
		Own:   true,
		Short: []string{"rules"},
		Columns: []column.Column{
			column.Enum("MEDIUM", "MEDIUM_", "medium"),
			column.Field("EDITION", "edition"),
			column.Of("CHAPTERS", func(row column.Row) string {
				var titles []string
				for _, chapter := range column.List(row.Object, "chapters") {
					titles = append(titles, column.Text(column.At(chapter, "title")))
				}
				return strings.Join(titles, ", ")
			}),
			column.Of("SERVERS OF ITS POOL", func(row column.Row) string {
				pool, _ := row.Referred("pool_ref")
				return pool.Text("runtime", "num_servers")
			}),
		},
		Beside:  []string{"pool"},
		Example: "  weir rules create house edition=2 chapters[0].title=doors pool_ref=web",
	})
}

func TestAKindThatIsOneFileHasItsTable(t *testing.T) {
	kind := kindOf(t, "rulebook")
	others := column.Others{}
	others.Add([]client.Object{{"uuid": "pool-1", "runtime": map[string]any{"num_servers": 2.0}}})
	rules := []client.Object{
		{"name": "house", "medium": "MEDIUM_PAPER", "edition": 3.0, "pool_ref": "https://h/api/pool/pool-1#web",
			"chapters": []any{map[string]any{"title": "doors"}, map[string]any{"title": "walls"}}},
		{"name": "street", "edition": 1.0, "pool_ref": "https://h/api/pool/pool-9#gone"},
	}
	var out bytes.Buffer
	if err := tableOf(kind, rules, others, time.Time{}).print(&out); err != nil {
		t.Fatal(err)
	}
	const want = "" +
		"NAME     MEDIUM   EDITION   CHAPTERS       SERVERS OF ITS POOL\n" +
		"house    PAPER    3         doors, walls   2\n" +
		"street   -        1         -              -\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

func TestAKindThatIsOneFileHasItsCommands(t *testing.T) {
	command, _, err := rootCommand().Find([]string{"rules", "create"})
	if err != nil || command.CommandPath() != "weir rulebook create" ||
		!strings.Contains(command.Example, "chapters[0].title=doors") {
		t.Errorf("found %v, %v", command, err)
	}
	if _, err := composeObject(kindOf(t, "rulebook"), "", []string{"house", "chapter[0].title=x"}); err == nil ||
		err.Error() != "rulebook: chapter: is unknown; did you mean chapters?" {
		t.Errorf("got %v", err)
	}
}
