package plan

import (
	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// compressionBytesMost limits a compression profile with the groups that it names, because the Plan of an engine is
// limited. Each virtual service has a copy.
const compressionBytesMost = 256 << 10

const ofCompression = "application_profile_ref.http_profile.compression_profile"

var compressionLevels = map[string]dataplanev1.CompressionLevel{
	"NO_COMPRESSION":         dataplanev1.CompressionLevel_COMPRESSION_LEVEL_NONE,
	"NORMAL_COMPRESSION":     dataplanev1.CompressionLevel_COMPRESSION_LEVEL_NORMAL,
	"AGGRESSIVE_COMPRESSION": dataplanev1.CompressionLevel_COMPRESSION_LEVEL_AGGRESSIVE,
}

// compression converts a compression profile. nil: engines compress nothing.
func compression(subject subject, vs *model.VirtualService, report *report) *dataplanev1.Compression {
	from := vs.HTTP.Compression
	if from == nil || !from.Enabled {
		return nil
	}
	to := &dataplanev1.Compression{
		ContentTypes:         keys(vs.Content, from.ContentRef),
		MinBytes:             from.MinLength,
		LevelNormal:          from.LevelNormal,
		LevelAggressive:      from.LevelAggressive,
		RemoveAcceptEncoding: from.RemoveAcceptEncoding,
	}
	if from.FiltersRequests() {
		for _, at := range from.FilterOrder() {
			to.Filters = append(to.Filters, compressionFilter(vs.Content, &from.Filters[at]))
		}
	} else {
		to.ByRoundTrip = &dataplanev1.RoundTripLevels{
			LowMs: from.MaxLowRTTMs, HighMs: from.MinHighRTTMs, Mobile: keys(vs.Content, from.MobileRef),
		}
	}
	if len(vs.Content.StringGroups)+len(vs.Content.AddressGroups) < groupsOf(from) {
		report.blocked = true // model has a finding about that
	}
	if size := proto.Size(to); size > compressionBytesMost {
		report.block(subject, ofCompression, "has %d bytes with the groups that it names: give at most %d", size,
			compressionBytesMost)
	}
	return to
}

// groupsOf counts the groups that a profile names.
func groupsOf(from *kinds.CompressionProfile) int {
	names := map[string]bool{from.ContentRef: true, from.MobileRef: true}
	for i := range from.Filters {
		names[from.Filters[i].DevicesRef], names[from.Filters[i].AddrsRef] = true, true
	}
	delete(names, "")
	return len(names)
}

func compressionFilter(groups *model.Content, from *kinds.CompressionFilter) *dataplanev1.CompressionFilter {
	to := &dataplanev1.CompressionFilter{
		Level: compressionLevels[from.Level], Negated: isNegated(from.Match), ComparesClients: from.HasClients(),
		ComparesDevices: from.HasDevices(),
		Devices:         append(keys(groups, from.DevicesRef), from.UserAgents...),
	}
	to.Subnets, to.Ranges = addressSet(from.Addrs, from.Prefixes, from.Ranges)
	if group := groups.AddressGroups[from.AddrsRef]; group != nil {
		subnets, ranges := addressSet(group.Addrs, group.Prefixes, group.Ranges)
		to.Subnets, to.Ranges = append(to.GetSubnets(), subnets...), append(to.GetRanges(), ranges...)
	}
	return to
}

// keys are those of a string group.
func keys(groups *model.Content, reference string) (keys []string) {
	if group := groups.StringGroups[reference]; group != nil {
		for _, pair := range group.Pairs {
			keys = append(keys, pair.Key)
		}
	}
	return keys
}
