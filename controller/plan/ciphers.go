package plan

// Suites that a cipher string can name, in the order in which OpenSSL lists them by default: forward secrecy and AEAD
// first, then by strength. Weak suites are in the table so that their names are known. An engine that does not
// implement a suite reports a warning.
const tls13 = "TLSv1.3"

type suite struct {
	openssl string
	iana    string
	words   []string // keywords of a cipher string that match the suite, besides ALL and its strength
	version string
	bits    int
}

var suites = []suite{
	{"TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", nil, tls13, 256},
	{"TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", nil, tls13, 256},
	{"TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", nil, tls13, 128},

	{"ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
		words(ecdhe, ecdsa, aes256gcm), "TLSv1.2", 256},
	{"ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
		words(ecdhe, aRSA, aes256gcm), "TLSv1.2", 256},
	{"DHE-RSA-AES256-GCM-SHA384", "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", words(dhe, aRSA, aes256gcm), "TLSv1.2", 256},
	{"ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
		words(ecdhe, ecdsa, chacha), "TLSv1.2", 256},
	{"ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
		words(ecdhe, aRSA, chacha), "TLSv1.2", 256},
	{"DHE-RSA-CHACHA20-POLY1305", "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
		words(dhe, aRSA, chacha), "TLSv1.2", 256},
	{"ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
		words(ecdhe, ecdsa, aes128gcm), "TLSv1.2", 128},
	{"ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		words(ecdhe, aRSA, aes128gcm), "TLSv1.2", 128},
	{"DHE-RSA-AES128-GCM-SHA256", "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", words(dhe, aRSA, aes128gcm), "TLSv1.2", 128},
	{"ECDHE-ECDSA-AES256-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384",
		words(ecdhe, ecdsa, aes256, sha384), "TLSv1.2", 256},
	{"ECDHE-RSA-AES256-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384",
		words(ecdhe, aRSA, aes256, sha384), "TLSv1.2", 256},
	{"DHE-RSA-AES256-SHA256", "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", words(dhe, aRSA, aes256, sha256), "TLSv1.2", 256},
	{"ECDHE-ECDSA-AES128-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
		words(ecdhe, ecdsa, aes128, sha256), "TLSv1.2", 128},
	{"ECDHE-RSA-AES128-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
		words(ecdhe, aRSA, aes128, sha256), "TLSv1.2", 128},
	{"DHE-RSA-AES128-SHA256", "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256", words(dhe, aRSA, aes128, sha256), "TLSv1.2", 128},
	{"ECDHE-ECDSA-AES256-SHA", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", words(ecdhe, ecdsa, aes256, sha1), "TLSv1", 256},
	{"ECDHE-RSA-AES256-SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", words(ecdhe, aRSA, aes256, sha1), "TLSv1", 256},
	{"DHE-RSA-AES256-SHA", "TLS_DHE_RSA_WITH_AES_256_CBC_SHA", words(dhe, aRSA, aes256, sha1), "SSLv3", 256},
	{"ECDHE-ECDSA-AES128-SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", words(ecdhe, ecdsa, aes128, sha1), "TLSv1", 128},
	{"ECDHE-RSA-AES128-SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", words(ecdhe, aRSA, aes128, sha1), "TLSv1", 128},
	{"DHE-RSA-AES128-SHA", "TLS_DHE_RSA_WITH_AES_128_CBC_SHA", words(dhe, aRSA, aes128, sha1), "SSLv3", 128},
	{"AES256-GCM-SHA384", "TLS_RSA_WITH_AES_256_GCM_SHA384", words(kRSA, aRSA, aes256gcm), "TLSv1.2", 256},
	{"AES128-GCM-SHA256", "TLS_RSA_WITH_AES_128_GCM_SHA256", words(kRSA, aRSA, aes128gcm), "TLSv1.2", 128},
	{"AES256-SHA256", "TLS_RSA_WITH_AES_256_CBC_SHA256", words(kRSA, aRSA, aes256, sha256), "TLSv1.2", 256},
	{"AES128-SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA256", words(kRSA, aRSA, aes128, sha256), "TLSv1.2", 128},
	{"AES256-SHA", "TLS_RSA_WITH_AES_256_CBC_SHA", words(kRSA, aRSA, aes256, sha1), "SSLv3", 256},
	{"AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA", words(kRSA, aRSA, aes128, sha1), "SSLv3", 128},
	{"ECDHE-ECDSA-DES-CBC3-SHA", "TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA",
		words(ecdhe, ecdsa, tripleDES, sha1), "TLSv1", 112},
	{"ECDHE-RSA-DES-CBC3-SHA", "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
		words(ecdhe, aRSA, tripleDES, sha1), "TLSv1", 112},
	{"DHE-RSA-DES-CBC3-SHA", "TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA", words(dhe, aRSA, tripleDES, sha1), "SSLv3", 112},
	{"DES-CBC3-SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", words(kRSA, aRSA, tripleDES, sha1), "SSLv3", 112},
	{"ECDHE-ECDSA-RC4-SHA", "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", words(ecdhe, ecdsa, rc4, sha1), "TLSv1", 80},
	{"ECDHE-RSA-RC4-SHA", "TLS_ECDHE_RSA_WITH_RC4_128_SHA", words(ecdhe, aRSA, rc4, sha1), "TLSv1", 80},
	{"RC4-SHA", "TLS_RSA_WITH_RC4_128_SHA", words(kRSA, aRSA, rc4, sha1), "SSLv3", 80},
	{"RC4-MD5", "TLS_RSA_WITH_RC4_128_MD5", words(kRSA, aRSA, rc4, md5), "SSLv3", 80},
}

// Keywords of a cipher string for each property of a suite.
var (
	ecdhe     = []string{"ECDHE", "EECDH", "kECDHE", "kEECDH", "ECDH"}
	dhe       = []string{"DHE", "EDH", "kDHE", "kEDH", "DH"}
	kRSA      = []string{"kRSA", "RSA"}
	aRSA      = []string{"aRSA", "RSA"}
	ecdsa     = []string{"aECDSA", "ECDSA"}
	aes128    = []string{"AES", "AES128"}
	aes256    = []string{"AES", "AES256"}
	aes128gcm = []string{"AES", "AES128", "AESGCM"}
	aes256gcm = []string{"AES", "AES256", "AESGCM"}
	chacha    = []string{"CHACHA20"}
	tripleDES = []string{"3DES"}
	rc4       = []string{"RC4"}
	sha1      = []string{"SHA", "SHA1"}
	sha256    = []string{"SHA256"}
	sha384    = []string{"SHA384"}
	md5       = []string{"MD5"}
)

// barren has keywords for suites that nobody should offer, or that this table leaves out. They are known, and match
// nothing.
var barren = words([]string{
	"NULL", "eNULL", "aNULL", "ADH", "AECDH", "EXP", "EXPORT", "EXPORT40", "EXPORT56", "LOW", "DES",
	"RC2", "IDEA", "SEED",
	"CAMELLIA", "CAMELLIA128", "CAMELLIA256", "ARIA", "ARIA128", "ARIA256", "ARIAGCM", "AESCCM", "AESCCM8",
	"PSK", "kPSK", "aPSK", "ECDHEPSK", "kECDHEPSK", "DHEPSK", "kDHEPSK", "RSAPSK", "kRSAPSK", "SRP", "kSRP", "aSRP",
	"DSS", "aDSS", "KRB5", "GOST", "kGOST", "aGOST", "aGOST01", "GOST94", "GOST89MAC",
	"kDH", "kDHr", "kDHd", "aDH", "kECDH", "kECDHr", "kECDHe", "aECDH", "FIPS", "COMPLEMENTOFALL",
	"SUITEB128", "SUITEB192", "SUITEB128ONLY",
})

func words(groups ...[]string) []string {
	var all []string
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}
