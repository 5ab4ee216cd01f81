package kinds

import (
	"cmp"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// FailAction is what a client gets if no server takes its request.
type FailAction struct {
	Type     string              `json:"type" enum:"FailActionType" default:"FAIL_ACTION_CLOSE_CONN"`
	Redirect *FailActionRedirect `json:"redirect"`
	LocalRsp *FailActionLocalRsp `json:"local_rsp"`
	Backup   *FailActionBackup   `json:"backup_pool"`
}

// FailActionRedirect redirects the client to another host.
type FailActionRedirect struct {
	Protocol   string `json:"protocol" enum:"HTTPProtocol" default:"HTTPS"`
	Host       string `json:"host" required:"true"`
	Path       string `json:"path"`  // empty: that of the request
	Query      string `json:"query"` // empty: that of the request
	StatusCode string `json:"status_code" enum:"RedirectStatus" default:"HTTP_REDIRECT_STATUS_CODE_302"`
}

// FailActionLocalRsp answers with a page of the engine.
type FailActionLocalRsp struct {
	StatusCode string         `json:"status_code" enum:"FailResponseStatus" default:"FAIL_HTTP_STATUS_CODE_503"`
	File       *HTTPLocalFile `json:"file"`
}

// FailActionBackup has another pool take over.
type FailActionBackup struct {
	PoolRef string `json:"backup_pool_ref" ref:"pool" required:"true"`
}

const (
	FailClose    = "FAIL_ACTION_CLOSE_CONN"
	FailLocal    = "FAIL_ACTION_HTTP_LOCAL_RSP"
	FailRedirect = "FAIL_ACTION_HTTP_REDIRECT"
	FailBackup   = "FAIL_ACTION_BACKUP_POOL"
)

var (
	_ = schema.Enum("FailActionType", FailRedirect, FailLocal, FailClose, FailBackup)
	_ = schema.Enum("FailResponseStatus", "FAIL_HTTP_STATUS_CODE_200", "FAIL_HTTP_STATUS_CODE_503")
)

func (a *FailAction) check(field string) *schema.FieldError {
	switch {
	case a == nil:
		return nil
	case a.Type != FailRedirect && a.Redirect != nil:
		return refuse(field+".redirect", "is for %s", FailRedirect)
	case a.Type != FailLocal && a.LocalRsp != nil:
		return refuse(field+".local_rsp", "is for %s", FailLocal)
	case a.Type != FailBackup && a.Backup != nil:
		return refuse(field+".backup_pool", "is for %s", FailBackup)
	case a.Type == FailRedirect && a.Redirect == nil:
		return refuse(field+".redirect", "is required by %s", FailRedirect)
	case a.Type == FailBackup && a.Backup == nil:
		return refuse(field+".backup_pool", "is required by %s", FailBackup)
	case a.Type == FailRedirect:
		return a.Redirect.check(field + ".redirect")
	case a.LocalRsp != nil:
		return a.LocalRsp.File.check(field+".local_rsp.file", StatusIn(a.LocalRsp.StatusCode))
	}
	return nil
}

func (r *FailActionRedirect) check(field string) *schema.FieldError {
	if r.Path != "" && !strings.HasPrefix(r.Path, "/") {
		return refuse(field+".path", "%s does not begin with /", schema.Show(r.Path))
	}
	problem := cmp.Or(hostPortText.check(field+".host", r.Host), checkQuery(field+".query", r.Query))
	if problem == nil && r.Path != "" {
		problem = pathText.check(field+".path", r.Path)
	}
	return problem
}
