package kinds

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"hash"
)

// iterationsMost bounds the work for a passphrase: OpenSSL does 2,048 by default. A million take a third of a second.
const iterationsMost = 1_000_000

var (
	errPassphrase = errors.New("cannot be decrypted with key_passphrase")
	errScheme     = errors.New("is encrypted in a way that Weir does not read: give it with PBES2, PBKDF2 and AES or " +
		"3DES in CBC, as `openssl pkcs8 -topk8` makes it")
)

// isEncrypted tells whether a block of PEM is a private key under a passphrase.
func isEncrypted(block *pem.Block) bool {
	return block != nil && (block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "")
}

// decryptKey turns an encrypted key into PEM that is not.
func decryptKey(block *pem.Block, passphrase string) (string, error) {
	if block.Type != "ENCRYPTED PRIVATE KEY" {
		//nolint:staticcheck // who has a key in this form has it from OpenSSL before 3.0
		der, err := x509.DecryptPEMBlock(block, []byte(passphrase))
		if err != nil {
			return "", errPassphrase
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: der})), nil
	}
	der, err := decryptPKCS8(block.Bytes, passphrase)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}

// RFC 8018 appendix A: encryption by a passphrase.
type (
	encryptedKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	pbes2Parameters  struct{ Derivation, Scheme pkix.AlgorithmIdentifier }
	pbkdf2Parameters struct {
		Salt       []byte
		Iterations int
		KeyLength  int                      `asn1:"optional"`
		PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
	}
)

const (
	oidPBES2  = "1.2.840.113549.1.5.13"
	oidPBKDF2 = "1.2.840.113549.1.5.12"
)

// keyHashes are those of HMAC; without a name it is the first.
var keyHashes = map[string]func() hash.Hash{"": sha1.New, "1.2.840.113549.2.7": sha1.New,
	"1.2.840.113549.2.9": sha256.New, "1.2.840.113549.2.10": sha512.New384, "1.2.840.113549.2.11": sha512.New}

var keyCiphers = map[string]struct {
	keyBytes int
	block    func([]byte) (cipher.Block, error)
}{
	"2.16.840.1.101.3.4.1.2": {16, aes.NewCipher}, "2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
	"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher}, "1.2.840.113549.3.7": {24, des.NewTripleDESCipher},
}

func decryptPKCS8(der []byte, passphrase string) ([]byte, error) {
	var key encryptedKey
	var how pbes2Parameters
	var derivation pbkdf2Parameters
	var vector []byte
	if !decode(der, &key) || key.Algorithm.Algorithm.String() != oidPBES2 ||
		!decode(key.Algorithm.Parameters.FullBytes, &how) || how.Derivation.Algorithm.String() != oidPBKDF2 ||
		!decode(how.Derivation.Parameters.FullBytes, &derivation) ||
		!decode(how.Scheme.Parameters.FullBytes, &vector) {
		return nil, errScheme
	}
	scheme, known := keyCiphers[how.Scheme.Algorithm.String()]
	hashing, isHash := keyHashes[derivation.PRF.Algorithm.String()]
	if !known || !isHash || derivation.Iterations < 1 || derivation.Iterations > iterationsMost {
		return nil, errScheme
	}
	secret, err := pbkdf2.Key(hashing, passphrase, derivation.Salt, derivation.Iterations, scheme.keyBytes)
	if err != nil {
		return nil, errScheme
	}
	block, err := scheme.block(secret)
	if err != nil || len(vector) != block.BlockSize() || len(key.Data) == 0 || len(key.Data)%len(vector) != 0 {
		return nil, errScheme
	}
	plain := make([]byte, len(key.Data))
	cipher.NewCBCDecrypter(block, vector).CryptBlocks(plain, key.Data)
	padding := int(plain[len(plain)-1])
	if padding == 0 || padding > len(vector) {
		return nil, errPassphrase
	}
	plain = plain[:len(plain)-padding]
	if _, err := x509.ParsePKCS8PrivateKey(plain); err != nil {
		return nil, errPassphrase
	}
	return plain, nil
}

func decode(der []byte, into any) bool {
	rest, err := asn1.Unmarshal(der, into)
	return err == nil && len(rest) == 0
}

// IsEncryptedKey tells whether PEM holds a private key under a passphrase.
func IsEncryptedKey(key string) bool {
	block, _ := pem.Decode([]byte(key))
	return isEncrypted(block)
}

// DecryptKey returns the PEM of an encrypted key without its passphrase. It may take a third of a second.
func DecryptKey(key, passphrase string) (string, error) {
	block, _ := pem.Decode([]byte(key))
	if !isEncrypted(block) {
		return key, nil
	}
	return decryptKey(block, passphrase)
}
