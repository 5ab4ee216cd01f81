package controller

import (
	"context"

	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/controller/cloud/linux"
	"github.com/weir-lb/weir/controller/membership"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/store"
)

// clouds finds the implementation that starts the engines of a cloud object.
type clouds struct {
	local    cloud.Cloud // for CLOUD_NONE; nil: operators start these engines
	programs string      // the directory of weir and weir-dataplane
}

// of returns nil where operators start the engines.
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

// broken is a cloud whose object has unusable settings. Every call fails with the reason.
type broken struct{ why error }

func (b broken) List(context.Context) ([]cloud.Place, error)      { return nil, b.why }
func (b broken) Create(context.Context, string, cloud.Join) error { return b.why }
func (b broken) Retire(context.Context, string) error             { return b.why }

// originOf returns the cloud that started an engine of this name, with the group and the zone of the engine; nil: no
// cloud started it.
func originOf(view *store.View, engineName string) (*membership.Origin, error) {
	instance, err := cloud.Expected(view, engineName)
	if instance == nil || err != nil {
		return nil, err
	}
	return &membership.Origin{
		Engine: instance.Engine, Cloud: instance.Cloud, Group: instance.Group, Zone: instance.Zone,
	}, nil
}
