package plan

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// failAction converts what clients get if no server of a pool takes their requests.
func failAction(from *kinds.FailAction, into *dataplanev1.Pool) {
	answer := failAnswer(from)
	switch {
	case from == nil || from.Type == kinds.FailClose:
		into.FailAction = dataplanev1.FailAction_FAIL_ACTION_CLOSE_CONNECTION
	case answer == nil:
		into.FailAction = dataplanev1.FailAction_FAIL_ACTION_LOCAL_RESPONSE
	default:
		into.FailAction, into.FailAnswer = dataplanev1.FailAction_FAIL_ACTION_ANSWER, answer
	}
}

// failAnswer returns nil for the page of the engine with status 503.
func failAnswer(from *kinds.FailAction) *dataplanev1.FailAnswer {
	if from == nil {
		return nil
	}
	switch from.Type {
	case kinds.FailRedirect:
		return &dataplanev1.FailAnswer{Answer: &dataplanev1.FailAnswer_Redirect{Redirect: failRedirect(from.Redirect)}}
	case kinds.FailBackup:
		return &dataplanev1.FailAnswer{Answer: &dataplanev1.FailAnswer_BackupPoolUuid{
			BackupPoolUuid: model.UUIDIn(from.Backup.PoolRef)}}
	case kinds.FailLocal:
		if local := from.LocalRsp; local != nil && (local.File != nil || kinds.StatusIn(local.StatusCode) != 503) {
			return &dataplanev1.FailAnswer{Answer: &dataplanev1.FailAnswer_Response{
				Response: localResponse(kinds.StatusIn(local.StatusCode), local.File)}}
		}
		return nil
	}
	return &dataplanev1.FailAnswer{Answer: &dataplanev1.FailAnswer_Close{Close: &dataplanev1.Close{}}}
}

// failRedirect leads to another host. What the operator leaves open is as the client asked.
func failRedirect(from *kinds.FailActionRedirect) *dataplanev1.HttpRedirect {
	to := &dataplanev1.HttpRedirect{
		Status: kinds.StatusIn(from.StatusCode), Tls: from.Protocol == "HTTPS", Host: textTokens(from.Host),
		KeepQuery: from.Query == "", AddQuery: from.Query,
	}
	if from.Path != "" {
		to.Path = textTokens(from.Path)
	}
	return to
}

func textTokens(text string) []*dataplanev1.UriToken {
	return []*dataplanev1.UriToken{{Kind: dataplanev1.UriTokenKind_URI_TOKEN_KIND_TEXT, Text: text}}
}

// refuseBackups blocks a virtual service whose pools have a backup that is not there, and warns of one that cannot take
// the requests of others.
func refuseBackups(vs *model.VirtualService, report *report) {
	for _, pool := range vs.Pools() {
		if action := pool.FailAction; action != nil && action.Type == kinds.FailBackup {
			checkBackup(about("pool", pool.Identity, pool.Named), vs, []*model.Pool{pool}, action, report)
		}
	}
	for _, group := range vs.Groups() {
		if action := group.FailAction; action != nil && action.Type == kinds.FailBackup {
			checkBackup(about("poolgroup", group.Identity, group.Named), vs, group.Pools(), action, report)
		}
	}
}

func checkBackup(of subject, vs *model.VirtualService, pools []*model.Pool, action *kinds.FailAction, report *report) {
	const field = "fail_action.backup_pool.backup_pool_ref"
	for _, backup := range vs.Pools() {
		if backup.UUID != model.UUIDIn(action.Backup.PoolRef) {
			continue
		}
		for _, pool := range pools {
			if why := unlike(pool, backup); why != "" && vs.HTTP != nil {
				report.warn(of, field, "requests for pool %s cannot go to pool %s: %s", pool.Name, backup.Name, why)
			}
		}
		return
	}
	report.blocked = true // model has a finding about that
}

// unlike says why a request that was written for one pool cannot go to another; empty: it can.
func unlike(pool, other *model.Pool) string {
	switch {
	case pool.EnableHTTP2 != other.EnableHTTP2:
		return "enable_http2 is set in one of them only"
	case pool.EnableHTTP2 && (pool.SSLProfile == nil) != (other.SSLProfile == nil):
		return "one of them has an SSL profile, and HTTP/2 says so in each request"
	case pool.UseServicePort != other.UseServicePort:
		return "use_service_port is set in one of them only"
	case tlsByService(pool) != tlsByService(other):
		return "use_service_ssl_mode is set in one of them only"
	case ownCookie(pool) != ownCookie(other):
		return "only one of them has persistence by this cookie of servers, whose value is not the same for both"
	case asksName(pool) != asksName(other):
		return "only one of them sends servers the host of a request as the server name of TLS: give both a server_name"
	}
	return ""
}

// asksName tells whether the server name of TLS is the host of the request.
func asksName(pool *model.Pool) bool {
	return pool.SSLProfile != nil && pool.SNIEnabled && pool.ServerName == ""
}
