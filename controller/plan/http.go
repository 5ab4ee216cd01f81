package plan

import (
	"cmp"
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const (
	bytesPerKiB   = 1024
	secondsPerDay = 24 * 60 * 60
)

var xffUpdates = map[string]dataplanev1.XffUpdate{
	"REPLACE_XFF_HEADERS":      dataplanev1.XffUpdate_XFF_UPDATE_REPLACE,
	"APPEND_TO_THE_XFF_HEADER": dataplanev1.XffUpdate_XFF_UPDATE_APPEND,
	"ADD_NEW_XFF_HEADER":       dataplanev1.XffUpdate_XFF_UPDATE_ADD_NEW,
}

var underscores = map[string]dataplanev1.Underscores{
	"WEIR_UNDERSCORES_PASS":   dataplanev1.Underscores_UNDERSCORES_PASS,
	"WEIR_UNDERSCORES_DROP":   dataplanev1.Underscores_UNDERSCORES_DROP,
	"WEIR_UNDERSCORES_REFUSE": dataplanev1.Underscores_UNDERSCORES_REFUSE,
}

// httpProfile converts the HTTP settings. Redirects go to httpsPort; 0: there are none.
func httpProfile(vs *model.VirtualService, httpsPort uint32, report *report) *dataplanev1.HttpProfile {
	http := vs.HTTP
	noteUnsupported(vs, report)
	everywhere := http.SSLEverywhere
	return &dataplanev1.HttpProfile{
		ConnectionMultiplexing:  http.ConnectionMultiplexing,
		RespondWith_100Continue: http.RespondWith100Continue,

		PostAcceptTimeoutMs:   http.PostAcceptTimeoutMs,
		ClientHeaderTimeoutMs: http.ClientHeaderTimeoutMs,
		ClientBodyTimeoutMs:   http.ClientBodyTimeoutMs,
		KeepaliveTimeoutMs:    http.KeepaliveTimeoutMs,
		MaxKeepaliveRequests:  http.MaxKeepaliveRequests,

		MaxHeaderBytes:       http.ClientMaxHeaderKiB * bytesPerKiB,
		MaxRequestHeadBytes:  http.RequestHeadKiB() * bytesPerKiB,
		MaxResponseHeadBytes: http.MaxResponseHeadKiB * bytesPerKiB,
		MaxHeaderCount:       http.MaxHeaderCount,
		MaxBodyBytes:         uint64(http.ClientMaxBodyKiB) * bytesPerKiB,

		Xff:                       http.XFFEnabled,
		XffName:                   http.XFFName,
		XffUpdate:                 xffUpdates[http.XFFUpdate],
		XForwardedProto:           http.XForwardedProto || everywhere,
		HttpToHttps:               (http.HTTPToHTTPS || everywhere) && httpsPort != 0,
		HttpsPort:                 httpsPort,
		ServerSideRedirectToHttps: (http.ServerRedirectToHTTPS || everywhere) && httpsPort != 0,
		SecureCookies:             http.SecureCookies || everywhere,
		HttponlyCookies:           http.HTTPOnlyCookies || everywhere,
		Hsts:                      http.HSTSEnabled || everywhere,
		HstsMaxAgeS:               uint64(http.HSTSMaxAgeDays) * secondsPerDay,
		HstsIncludeSubdomains:     http.HSTSSubdomains,

		DetectNtlm:         http.DetectNTLM,
		HalfCloseTimeoutMs: http.HalfCloseTimeoutMs,
		RequestBufferBytes: http.RequestBufferBytes(),
		MinBodyBytesPerS:   http.MinBodyBytesPerS,

		ResetPlainOnTls:     http.ResetOnHTTPOnSSLPort,
		CloseServersOnError: http.ClosesServersOnError,
		TellKeepalive:       http.KeepaliveHeader,
		KeepaliveOfServers:  http.UseAppKeepaliveTimeout,

		Underscores:   underscores[http.Underscores],
		AnyHost:       vs.IsChild() && !vs.ByRequest() && http.NoSNIHostCheck,
		Http2:         http2Profile(vs),
		Websockets:    http.WebsocketsEnabled,
		HostToServers: hostToServers(vs, report),
		TrueClient:    trueClient(http),
	}
}

func trueClient(http *kinds.HTTPProfile) *dataplanev1.TrueClient {
	if !http.UseTrueClientIP {
		return nil
	}
	from := cmp.Or(http.TrueClientIP, usualTrueClient)
	return &dataplanev1.TrueClient{
		Name: from.Header(),
		// Profiles from before this field had an effect have no defaults.
		Index:     max(from.Index, 1) - 1,
		FromRight: from.Direction == "RIGHT",
	}
}

// http2Profile converts the settings for clients that speak HTTP/2, if a port lets them. A profile without these
// settings has the defaults.
func http2Profile(vs *model.VirtualService) *dataplanev1.Http2Profile {
	if !slices.ContainsFunc(vs.Ports(), func(service kinds.Service) bool { return service.EnableHTTP2 }) {
		return nil
	}
	profile := vs.HTTP.HTTP2
	if profile == nil {
		profile = usualHTTP2
	}
	return &dataplanev1.Http2Profile{
		MaxConcurrentStreams: profile.MaxStreams,
		InitialWindowBytes:   profile.InitialWindowKiB * bytesPerKiB,
		MaxRequests:          profile.MaxRequests,
		MaxControlFrames:     profile.MaxControlFrames,
		MaxEmptyFrames:       profile.MaxEmptyDataFrames,
		MaxFieldBytes:        profile.MaxHeaderFieldBytes,
	}
}

// noteUnsupported warns of settings without effect.
func noteUnsupported(vs *model.VirtualService, report *report) {
	profile, http := vs.ApplicationProfile, vs.HTTP
	subject := about("applicationprofile", profile.Identity, profile.Named)
	warnUnheeded(subject, unheededOfApplicationProfile, profile, report)
	noteUncountedAttacks(subject, vs, report)
	warnUnheeded(subject, unheededOfHTTP, http, report)
	if http.HTTP2 != nil {
		warnUnheeded(subject, unheededOfHTTP2, http.HTTP2, report)
	}
}
