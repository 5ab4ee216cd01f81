package place

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
)

var update = flag.Bool("update", false, "rewrite the placements in testdata with what is decided now")

// The file holds groups, "group web", then what is in them, "engine e1 SE_STATE_ENABLED" and "service s1 disabled", and
// below "== placement ==" who serves what.
func TestGoldenPlacement(t *testing.T) {
	const file = "testdata/every_service_on_every_engine_of_its_group.txt"
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	input, _, _ := strings.Cut(string(want), "\n== placement ==\n")
	m := modelOf(t, input)
	got := strings.TrimRight(input, "\n") + "\n\n== placement ==\n" + render(m, Place(m))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(want) {
		t.Errorf("placed otherwise now:\n%s", got)
	}
}

func modelOf(t *testing.T, text string) *model.Model {
	t.Helper()
	m := &model.Model{}
	var group *model.Group
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		identity, states := schema.Identity{UUID: words[1]}, words[2:]
		switch words[0] {
		case "group":
			group = &model.Group{ServiceEngineGroup: schema.ServiceEngineGroup{Identity: identity}}
			m.Groups = append(m.Groups, group)
		case "engine":
			engine := &model.Engine{ServiceEngine: schema.ServiceEngine{Identity: identity, EnableState: states[0]}}
			m.Engines, group.Engines = append(m.Engines, engine), append(group.Engines, engine)
		case "service":
			vs := &model.VirtualService{VirtualService: schema.VirtualService{
				Identity: identity, Enabled: !slices.Contains(states, "disabled"), TrafficEnabled: !slices.Contains(states, "no-traffic"),
			}}
			m.VirtualServices, group.VirtualServices = append(m.VirtualServices, vs), append(group.VirtualServices, vs)
		default:
			t.Fatalf("what is %q?", line)
		}
	}
	return m
}

func render(m *model.Model, placement Placement) string {
	var out strings.Builder
	for _, engine := range m.Engines {
		fmt.Fprintf(&out, "engine %s serves", engine.UUID)
		for _, vs := range placement.Services(engine.UUID) {
			fmt.Fprintf(&out, " %s", vs.UUID)
		}
		fmt.Fprintln(&out)
	}
	for _, vs := range m.VirtualServices {
		fmt.Fprintln(&out, strings.TrimRight(fmt.Sprintf("service %s is on %s", vs.UUID, strings.Join(placement.Engines(vs.UUID), " ")), " "))
	}
	return out.String()
}
