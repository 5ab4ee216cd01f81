package monitor

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/Azure/go-ntlmssp"
)

// probeNTLM logs in with NTLM, which belongs to a connection: offer, challenge of the server, answer.
func probeNTLM(target Target, stream net.Conn) Outcome {
	stream = &brief{stream, conversationBytesMax}
	offer, err := ntlmssp.NewNegotiateMessage("", "")
	if err != nil {
		return failed(target, err)
	}
	if _, err := stream.Write(request(target, "keep-alive", inNTLM(offer))); err != nil {
		return failed(target, err)
	}
	var received bytes.Buffer
	from := bufio.NewReader(io.TeeReader(stream, &received))
	challenge, err := challengeIn(from)
	if err != nil {
		return failed(target, err)
	}
	if challenge == nil { // it answers without a login, or refuses
		return judgeResponse(target, io.MultiReader(&received, stream))
	}
	login := &target.Monitor.Login
	answer, err := ntlmssp.NewAuthenticateMessage(challenge, login.Username, login.Password, nil)
	if err != nil {
		return Outcome{Reason: "its challenge of NTLM: " + err.Error()}
	}
	if _, err := stream.Write(request(target, "close", inNTLM(answer))); err != nil {
		return failed(target, err)
	}
	return judgeResponse(target, from)
}

func inNTLM(message []byte) string { return "NTLM " + base64.StdEncoding.EncodeToString(message) }

// challengeIn reads a response to its end, and returns its challenge; nil: it has none, and is not read to its end.
func challengeIn(from *bufio.Reader) ([]byte, error) {
	response, err := http.ReadResponse(from, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	for _, offered := range response.Header.Values("WWW-Authenticate") {
		scheme, encoded, _ := strings.Cut(offered, " ")
		challenge, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
		if !strings.EqualFold(scheme, "NTLM") || err != nil || len(challenge) == 0 {
			continue
		}
		_, err = io.Copy(io.Discard, response.Body)
		return challenge, err
	}
	return nil, nil
}
