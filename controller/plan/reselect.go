package plan

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
)

var statusBlocks = map[string]*dataplanev1.StatusRange{
	"HTTP_RSP_4XX": {First: 400, Last: 499},
	"HTTP_RSP_5XX": {First: 500, Last: 599},
}

// reselect converts server_reselect. It returns nil if clients get each first response.
func reselect(subject subject, from *model.Pool, report *report) *dataplanev1.Reselect {
	wanted := from.ServerReselect
	if wanted == nil || !wanted.Enabled {
		return nil
	}
	var statuses []*dataplanev1.StatusRange
	if codes := wanted.ResponseCodes; codes != nil {
		for _, code := range codes.Codes {
			statuses = append(statuses, &dataplanev1.StatusRange{First: code, Last: code})
		}
		for _, span := range codes.Ranges {
			statuses = append(statuses, &dataplanev1.StatusRange{First: span.Begin, Last: span.End})
		}
		for _, block := range codes.Blocks {
			statuses = append(statuses, statusBlocks[block])
		}
	}
	if len(statuses) == 0 {
		report.warn(subject, "server_reselect.svr_resp_code", "names no status: server_reselect has no effect")
		return nil
	}
	return &dataplanev1.Reselect{
		Statuses:       statuses,
		MaxRetries:     wanted.NumRetries,
		AnyMethod:      wanted.RetryNonidempotent,
		RetryTimeoutMs: wanted.RetryTimeoutMs,
	}
}
