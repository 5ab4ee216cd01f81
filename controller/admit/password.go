package admit

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// argon2id as OWASP asks of a login that must stay cheap for the server: 19 MiB, two passes, one lane.
const (
	argonMemoryKiB = 19 << 10
	argonPasses    = 2
	argonLanes     = 1
	saltBytes      = 16
	hashBytes      = 32

	maxPasswordBytes = 1024
)

// HashPassword makes the PHC string that is stored in place of a password.
func HashPassword(password string) string {
	salt := make([]byte, saltBytes)
	rand.Read(salt)
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		argonMemoryKiB, argonPasses, argonLanes, encode(salt), encode(argon(password, salt, hashBytes)))
}

// passwordMatches takes as long for a user without a usable hash as for one with a wrong password.
func passwordMatches(stored, password string) bool {
	salt, hash, ok := parseHash(stored)
	if !ok {
		salt, hash = make([]byte, saltBytes), make([]byte, hashBytes)
	}
	if len(password) > maxPasswordBytes {
		return false
	}
	return subtle.ConstantTimeCompare(hash, argon(password, salt, uint32(len(hash)))) == 1 && ok
}

func argon(password string, salt []byte, length uint32) []byte {
	return argon2.IDKey([]byte(password), salt, argonPasses, argonMemoryKiB, argonLanes, length)
}

func parseHash(stored string) (salt, hash []byte, ok bool) {
	parts := strings.Split(stored, "$")
	want := fmt.Sprintf("m=%d,t=%d,p=%d", argonMemoryKiB, argonPasses, argonLanes)
	if len(parts) != 6 || parts[1] != "argon2id" || parts[3] != want {
		return nil, nil, false
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	hash, hashErr := base64.RawStdEncoding.DecodeString(parts[5])
	return salt, hash, saltErr == nil && hashErr == nil && len(hash) == hashBytes
}
