package controller

import (
	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/controller/model"
)

// clouds finds who starts the engines of a cloud object.
type clouds struct {
	local cloud.Cloud // of CLOUD_NONE; nil: operators start those
}

// of is nil where operators start the engines.
func (c clouds) of(object *model.Cloud) cloud.Cloud {
	if object.VType == "CLOUD_NONE" {
		return c.local
	}
	return nil
}
