package monitor

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
)

// Codes, attributes and lengths of RADIUS (RFC 2865 §3, §5; RFC 3579 §3.2).
const (
	radiusRequest, radiusAccept, radiusReject, radiusChallenge = 1, 2, 3, 11

	radiusUserName, radiusUserPassword, radiusNASIdentifier, radiusMessageAuthenticator = 1, 2, 32, 80

	radiusHeadBytes, radiusAuthenticatorBytes, radiusPasswordBytesMax = 20, 16, 128
)

// probeRADIUS asks a server whether it accepts a user. Its answer has to show that it knows the secret.
func probeRADIUS(ctx context.Context, target Target) Outcome {
	check := &target.Monitor.RADIUS
	socket, err := connectUDP(ctx, target)
	if err != nil {
		return failed(target, err)
	}
	defer socket.Close()
	question := radiusQuestion(check.Username, check.Password, []byte(check.Secret))
	if _, err := socket.Write(question); err != nil {
		return failed(target, err)
	}
	room := make([]byte, datagramBytesMax)
	n, err := socket.Read(room)
	if err != nil {
		return failed(target, err)
	}
	code, err := radiusAnswer(room[:n], question, []byte(check.Secret))
	switch {
	case err != nil:
		return Outcome{Reason: err.Error()}
	case code == radiusAccept:
		return Outcome{Up: true}
	case code == radiusReject:
		return Outcome{Reason: fmt.Sprintf("it rejects the user %q", check.Username)}
	case code == radiusChallenge:
		return Outcome{Reason: fmt.Sprintf("it wants more of the user %q than the password", check.Username)}
	default:
		return Outcome{Reason: fmt.Sprintf("its answer has code %d", code)}
	}
}

// radiusQuestion is an Access-Request. A Message-Authenticator comes first, so that a server can tell that nobody has
// changed the request (RFC 3579 §3.2).
func radiusQuestion(username, password string, secret []byte) []byte {
	authenticator := make([]byte, radiusAuthenticatorBytes+1)
	rand.Read(authenticator)
	packet := []byte{radiusRequest, authenticator[radiusAuthenticatorBytes], 0, 0}
	authenticator = authenticator[:radiusAuthenticatorBytes]
	packet = append(packet, authenticator...)
	signature := len(packet) + 2
	packet = attribute(packet, radiusMessageAuthenticator, make([]byte, md5.Size))
	packet = attribute(packet, radiusUserName, []byte(username))
	packet = attribute(packet, radiusUserPassword, hidden([]byte(password), authenticator, secret))
	packet = attribute(packet, radiusNASIdentifier, []byte("weir-monitor"))
	binary.BigEndian.PutUint16(packet[2:], uint16(len(packet)))
	copy(packet[signature:], signed(packet, secret))
	return packet
}

func attribute(packet []byte, kind byte, value []byte) []byte {
	return append(append(packet, kind, byte(len(value)+2)), value...)
}

// hidden is a password as RFC 2865 §5.2 hides it.
func hidden(password, authenticator, secret []byte) []byte {
	padded := make([]byte, max(1, (len(password)+md5.Size-1)/md5.Size)*md5.Size)
	copy(padded, password)
	before := authenticator
	for at := 0; at < len(padded); at += md5.Size {
		block := padded[at : at+md5.Size]
		mask := md5.Sum(append(bytes.Clone(secret), before...))
		subtle.XORBytes(block, block, mask[:])
		before = block
	}
	return padded
}

func signed(packet, secret []byte) []byte {
	mac := hmac.New(md5.New, secret)
	mac.Write(packet)
	return mac.Sum(nil)
}

// radiusAnswer checks an answer to a question (RFC 2865 §3), and returns its code.
func radiusAnswer(answer, question, secret []byte) (code byte, err error) {
	if len(answer) < radiusHeadBytes || int(binary.BigEndian.Uint16(answer[2:])) < radiusHeadBytes ||
		int(binary.BigEndian.Uint16(answer[2:])) > len(answer) {
		return 0, errors.New("its answer is not RADIUS")
	}
	answer = answer[:binary.BigEndian.Uint16(answer[2:])]
	if answer[1] != question[1] {
		return 0, errors.New("its answer is not that to the question")
	}
	// The answer is signed with the authenticator of the question in place of its own.
	unsigned := bytes.Clone(answer)
	copy(unsigned[4:radiusHeadBytes], question[4:radiusHeadBytes])
	digest := md5.Sum(append(bytes.Clone(unsigned), secret...))
	if !hmac.Equal(digest[:], answer[4:radiusHeadBytes]) {
		return 0, errors.New("its answer is signed with another shared_secret")
	}
	return answer[0], checkSignature(unsigned, secret)
}

// checkSignature checks the Message-Authenticator of an answer, if it has one. It changes the answer.
func checkSignature(answer, secret []byte) error {
	for at := radiusHeadBytes; at < len(answer); {
		if at+2 > len(answer) || answer[at+1] < 2 || at+int(answer[at+1]) > len(answer) {
			return errors.New("its answer has an attribute of a wrong length")
		}
		value := answer[at+2 : at+int(answer[at+1])]
		if answer[at] == radiusMessageAuthenticator {
			claimed := bytes.Clone(value)
			clear(value)
			if !hmac.Equal(claimed, signed(answer, secret)) {
				return errors.New("its answer has a wrong Message-Authenticator")
			}
		}
		at += int(answer[at+1])
	}
	return nil
}
