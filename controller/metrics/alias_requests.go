package metrics

const (
	byMethod     = "weir_service_requests_by_method_total"
	localByClass = "weir_service_local_responses_by_class_total"
)

// requestAliases are those of kinds of requests and responses.
var requestAliases = []alias{
	{service, "l7_client.sum_get_reqs", count, grown(byMethod + `{method="get"}`), "requests with GET in the step"},
	{service, "l7_client.sum_post_reqs", count, grown(byMethod + `{method="post"}`), "requests with POST in the step"},
	{service, "l7_client.sum_other_reqs", count, grown(byMethod + `{method!~"get|post"}`),
		"requests with other methods in the step"},
	{service, "l7_client.avg_resp_4xx_avi_errors", perSecond, rate(localByClass + `{class="4xx"}`),
		"responses with a status of 4xx that engines made themselves"},
	{service, "l7_client.avg_resp_5xx_avi_errors", perSecond, rate(localByClass + `{class="5xx"}`),
		"responses with a status of 5xx that engines made themselves"},
}
