package e2e

import (
	"fmt"
	"testing"

	"github.com/weir-lb/weir/client"
)

func TestGroupSaysWhetherWorkersArePinnedWhileTheyServe(t *testing.T) {
	s := setUp(t, badServer(t))
	before := s.dataplane()
	for _, c := range []struct {
		says   string
		pinned float64
	}{{"ALWAYS", 2}, {"NEVER", 0}, {"ALWAYS", 2}} {
		s.change("serviceenginegroup", "Default-Group", func(o client.Object) { o["weir_worker_pinning"] = c.says })
		s.eventually(c.says+" is obeyed", func() error {
			dataplane, _ := s.runtime("serviceengine", "engine-1")["dataplane"].(map[string]any)
			if dataplane["pinned_workers"] != c.pinned {
				return fmt.Errorf("it says %v", dataplane)
			}
			return nil
		})
	}
	if after := s.dataplane(); after != before {
		t.Errorf("data plane %d was replaced by %d", before, after)
	}
}
