package plan

import (
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
)

func TestGroupSaysWhetherTheWorkersOfItsEnginesArePinned(t *testing.T) {
	for said, want := range map[string]dataplanev1.WorkerPinning{
		`{"name": "Default-Group"}`:                                  dataplanev1.WorkerPinning_WORKER_PINNING_AUTO,
		`{"name": "Default-Group", "weir_worker_pinning": "AUTO"}`:   dataplanev1.WorkerPinning_WORKER_PINNING_AUTO,
		`{"name": "Default-Group", "weir_worker_pinning": "NEVER"}`:  dataplanev1.WorkerPinning_WORKER_PINNING_NEVER,
		`{"name": "Default-Group", "weir_worker_pinning": "ALWAYS"}`: dataplanev1.WorkerPinning_WORKER_PINNING_ALWAYS,
	} {
		m, findings := model.Build(7, objectsIn(t, "serviceenginegroup "+said+"\n"))
		compiled, more := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
		if len(findings)+len(more) > 0 {
			t.Errorf("%s: %v %v", said, findings, more)
		}
		var got dataplanev1.WorkerPinning
		for _, resource := range compiled.GetResources() {
			if settings := resource.GetEngineSettings(); settings != nil {
				got = settings.GetWorkerPinning()
			}
		}
		if got != want {
			t.Errorf("%s: want %v, got %v", said, want, got)
		}
	}
}
