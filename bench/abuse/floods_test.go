package abuse

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/weir-lb/weir/bench/abuse/h2"
)

func TestFloodersComeAgainWhenTheirConnectionsAreEnded(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	for _, with := range h2.Attacks {
		if with.Name != "window-overflow" {
			continue
		}
		attackers := floodWith(with)(t.Context(), 3, addressOf(server.Listener))
		arrive(t, attackers)
		for t.Context().Err() == nil && attackers.(*flood).gone() < 6 {
			pass(t.Context(), nil, comesAgain)
		}
		toll := attackers.End()
		if toll.Came < 6 || toll.Refused != 0 || toll.Ends["FLOW_CONTROL_ERROR"] < 6 {
			t.Errorf("%+v", toll)
		}
	}
}
