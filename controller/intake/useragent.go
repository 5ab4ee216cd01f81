package intake

import "strings"

// mark is a part of a User-Agent, and what it shows. The first mark that is there counts: browsers name others, too.
type mark struct{ part, shows string }

var (
	browsers = []mark{
		{"bot", "Bot"}, {"crawler", "Bot"}, {"spider", "Bot"}, {"Edg/", "Edge"}, {"EdgA/", "Edge"}, {"OPR/", "Opera"},
		{"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"MSIE ", "Internet Explorer"}, {"Trident/", "Internet Explorer"},
		{"curl/", "curl"}, {"Wget/", "Wget"}, {"python-requests/", "Python"}, {"Python-urllib/", "Python"},
		{"Go-http-client/", "Go"}, {"okhttp/", "OkHttp"}, {"Java/", "Java"}, {"Apache-HttpClient/", "Java"},
		{"grpc-", "gRPC"}, {"Prometheus/", "Prometheus"},
	}
	systems = []mark{
		{"Windows", "Windows"}, {"iPhone", "iOS"}, {"iPad", "iOS"}, {"Android", "Android"}, {"CrOS", "ChromeOS"},
		{"Mac OS X", "macOS"}, {"Linux", "Linux"},
	}
	devices = []mark{
		{"bot", "Bot"}, {"crawler", "Bot"}, {"spider", "Bot"}, {"iPad", "Tablet"}, {"Tablet", "Tablet"},
		{"Mobile", "Phone"}, {"iPhone", "Phone"}, {"Android", "Tablet"}, {"Windows", "Computer"},
		{"Mac OS X", "Computer"}, {"CrOS", "Computer"}, {"X11", "Computer"},
	}
)

// readUserAgent guesses what a client is; empty: it does not show.
func readUserAgent(agent string) (browser, system, device string) {
	return first(browsers, agent), first(systems, agent), first(devices, agent)
}

func first(marks []mark, agent string) string {
	for _, mark := range marks {
		if strings.Contains(agent, mark.part) {
			return mark.shows
		}
	}
	return ""
}
