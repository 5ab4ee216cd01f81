package plan

import (
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// part is a resource, and how many bytes of a Plan it needs.
type part struct {
	*enginev1.Resource
	bytes int
}

// fieldBytes is at least what the field that holds a resource adds to it: a number and a length.
const fieldBytes = 6

func partOf(resource *enginev1.Resource) part {
	return part{resource, proto.Size(resource) + fieldBytes}
}

func partsOf(resources []*enginev1.Resource) (parts []part) {
	for _, resource := range resources {
		parts = append(parts, partOf(resource))
	}
	return parts
}
