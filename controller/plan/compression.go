package plan

import (
	"slices"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// contentBytesMost limits a compression profile, and the configuration of a cache, with the groups that they name,
// because the Plan of an engine is limited. Each virtual service has a copy.
const contentBytesMost = 256 << 10

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
		if refuseManyAddresses(subject, vs.Content, from, report) {
			return nil
		}
		for _, at := range from.FilterOrder() {
			to.Filters = append(to.Filters, compressionFilter(vs.Content, &from.Filters[at]))
		}
	} else {
		to.ByRoundTrip = &dataplanev1.RoundTripLevels{
			LowMs: from.MaxLowRTTMs, HighMs: from.MinHighRTTMs, Mobile: keys(vs.Content, from.MobileRef),
		}
	}
	if lacksGroup(vs.Content, from) {
		report.blocked = true // model has a finding about that
	}
	if size := proto.Size(to); size > contentBytesMost {
		report.block(subject, ofCompression, "has %d bytes with the groups that it names: give at most %d", size,
			contentBytesMost)
	}
	return to
}

// rangeBytesLeast is the least that a range of addresses needs in a filter.
const rangeBytesLeast = 20

// refuseManyAddresses blocks a virtual service if the groups of its filters have too many addresses for a profile. It
// counts them first: a country may have more than a hundred thousand ranges, and each virtual service would get a copy.
func refuseManyAddresses(
	subject subject, groups *model.Content, from *kinds.CompressionProfile, report *report,
) (refused bool) {
	count, worst := 0, 0
	var largest *model.AddressGroup
	for _, at := range from.FilterOrder() {
		group := groups.AddressGroups[from.Filters[at].AddrsRef]
		if group == nil {
			continue
		}
		count += group.Size()
		if size := group.Size(); size > worst {
			worst, largest = size, group
		}
	}
	if count*rangeBytesLeast <= contentBytesMost {
		return false
	}
	report.block(subject, ofCompression, "its filters name groups with %d ranges of addresses, and take about 8000: "+
		"ipaddrgroup %s has %d; use groups with fewer addresses or countries", count, largest.Name, worst)
	return true
}

// lacksGroup tells whether a group that a profile names is not there.
func lacksGroup(groups *model.Content, from *kinds.CompressionProfile) bool {
	texts, addresses := []string{from.ContentRef, from.MobileRef}, []string(nil)
	for i := range from.Filters {
		texts, addresses = append(texts, from.Filters[i].DevicesRef), append(addresses, from.Filters[i].AddrsRef)
	}
	return slices.ContainsFunc(texts, func(reference string) bool {
		return reference != "" && groups.StringGroups[reference] == nil
	}) || slices.ContainsFunc(addresses, func(reference string) bool {
		return reference != "" && groups.AddressGroups[reference] == nil
	})
}

func compressionFilter(groups *model.Content, from *kinds.CompressionFilter) *dataplanev1.CompressionFilter {
	to := &dataplanev1.CompressionFilter{
		Level: compressionLevels[from.Level], Negated: isNegated(from.Match), ComparesClients: from.HasClients(),
		ComparesDevices: from.HasDevices(),
		Devices:         append(keys(groups, from.DevicesRef), from.UserAgents...),
	}
	to.Subnets, to.Ranges = addressSet(from.Addrs, from.Prefixes, from.Ranges)
	if group := groups.AddressGroups[from.AddrsRef]; group != nil {
		subnets, ranges := addressesOf(group)
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
