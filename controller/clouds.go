package controller

import (
	"context"

	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/controller/cloud/linux"
	"github.com/weir-lb/weir/controller/model"
)

// clouds finds who starts the engines of a cloud object.
type clouds struct {
	local    cloud.Cloud // of CLOUD_NONE; nil: operators start those
	programs string      // the directory of weir and weir-dataplane
}

// of is nil where operators start the engines.
func (c clouds) of(object *model.Cloud) cloud.Cloud {
	switch object.VType {
	case "CLOUD_NONE":
		return c.local
	case "CLOUD_LINUXSERVER":
		servers, err := linux.New(object, c.programs)
		if err != nil {
			return broken{err}
		}
		return servers
	default:
		return nil
	}
}

// broken is a cloud whose object says something that cannot be.
type broken struct{ why error }

func (b broken) List(context.Context) ([]cloud.Place, error)      { return nil, b.why }
func (b broken) Create(context.Context, string, cloud.Join) error { return b.why }
func (b broken) Retire(context.Context, string) error             { return b.why }
