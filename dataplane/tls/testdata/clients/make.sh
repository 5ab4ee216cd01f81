#!/bin/sh
# Makes the certificates of clients for the tests anew: DER, keys in PKCS#8. They are checked in.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
past="20200101000000Z" begin="20250101000000Z" end="21250101000000Z"

key() { # name
    case $1 in
    *rsa*) set -- "$1" -algorithm RSA -pkeyopt rsa_keygen_bits:2048 ;;
    *) set -- "$1" -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:named_curve ;;
    esac
    name=$1 && shift
    openssl genpkey "$@" 2>/dev/null |
        openssl pkcs8 -topk8 -nocrypt -outform DER -out "$name.key.der"
}

# The state of an authority, and how it signs.
authority() { # name
    mkdir -p "$work/$1"
    : >"$work/$1/index"
    echo 1000 >"$work/$1/serial"
    echo 01 >"$work/$1/crlnumber"
    cat >"$work/$1/config" <<END
[ca]
default_ca = it
[it]
database = $work/$1/index
serial = $work/$1/serial
crlnumber = $work/$1/crlnumber
new_certs_dir = $work/$1
default_md = sha256
policy = any
unique_subject = no
email_in_dn = yes
preserve = yes
[any]
countryName = optional
organizationName = optional
organizationalUnitName = optional
commonName = supplied
END
}

# sign NAME ISSUER SUBJECT EXTENSIONS [BEGIN END]; the issuer of a root is "-".
sign() {
    name=$1 issuer=$2
    [ -e "$name.key.der" ] || key "$name"
    printf '%b' "$4" >"$work/extensions"
    openssl req -new -utf8 -key "$name.key.der" -keyform DER -subj "$3" -out "$work/request"
    if [ "$issuer" = - ]; then
        authority "$name"
        signer="-selfsign -keyfile $name.key.der" issuer=$name
    else
        [ -e "$work/$issuer/config" ] || authority "$issuer"
        openssl x509 -inform DER -in "$issuer.crt.der" -out "$work/issuer.pem"
        signer="-cert $work/issuer.pem -keyfile $issuer.key.der"
    fi
    openssl ca -batch -notext -config "$work/$issuer/config" $signer -keyform DER -in "$work/request" \
        -extfile "$work/extensions" -startdate "${5:-$begin}" -enddate "${6:-$end}" -out "$work/made.pem" 2>/dev/null
    openssl x509 -in "$work/made.pem" -outform DER -out "$name.crt.der"
}

# revoke CRL ISSUER NEXT_UPDATE [NAME]
list() {
    [ -e "$work/$2/config" ] || authority "$2"
    openssl x509 -inform DER -in "$2.crt.der" -out "$work/issuer.pem"
    if [ -n "${4:-}" ]; then
        openssl x509 -inform DER -in "$4.crt.der" -out "$work/revoked.pem"
        openssl ca -config "$work/$2/config" -cert "$work/issuer.pem" -keyfile "$2.key.der" -keyform DER \
            -revoke "$work/revoked.pem" 2>/dev/null
    fi
    openssl ca -gencrl -config "$work/$2/config" -cert "$work/issuer.pem" -keyfile "$2.key.der" -keyform DER \
        -crl_lastupdate "$past" -crl_nextupdate "$3" -out "$work/crl.pem" 2>/dev/null
    openssl crl -in "$work/crl.pem" -outform DER -out "$1.crl.der"
}

ca="basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n"
leaf="basicConstraints=CA:FALSE\nextendedKeyUsage=clientAuth\n"

sign root - "/O=Example/CN=Root" "$ca"
sign other-root - "/O=Example/CN=Other root" "$ca"
sign old-root - "/O=Example/CN=Old root" "$ca" "$past" "$begin"
sign middle root "/O=Example/CN=Middle" "basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign\n"
sign deep middle "/O=Example/CN=Deep" "$ca"
sign constrained root "/O=Example/CN=Constrained" "${ca}nameConstraints=critical,permitted;DNS:good.test\n"

sign client root "/C=DE/O=Example, Inc./OU=Ops/CN=client ä" "$leaf"
sign client-rsa root "/O=Example/CN=client rsa" "$leaf"
sign revoked root "/CN=revoked" "$leaf"
sign via-middle middle "/CN=via middle" "$leaf"
sign too-deep deep "/CN=too deep" "$leaf"
sign expired root "/CN=expired" "$leaf" "$past" "$begin"
sign early root "/CN=early" "$leaf" "21200101000000Z" "$end"
sign server-only root "/CN=server only" "basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"
sign stranger other-root "/CN=stranger" "$leaf"
sign under-old-root old-root "/CN=under old root" "$leaf"
sign by-leaf client "/CN=by leaf" "$leaf"
sign good-name constrained "/CN=good name" "${leaf}subjectAltName=DNS:a.good.test\n"
sign bad-name constrained "/CN=bad name" "${leaf}subjectAltName=DNS:a.bad.test\n"
sign self-signed - "/CN=client" "$leaf"
sign false-root - "/O=Example/CN=Root" "$ca"
sign forged false-root "/CN=forged" "$leaf"
sign brief root "/O=Example/CN=Brief" "$ca" "$begin" "21000101000000Z"
sign via-brief brief "/CN=via brief" "$leaf"

list root root "$end" revoked
list root-expired root "$begin"
list root-short root "21000101000000Z"
list middle middle "$end"
list middle-revokes middle "$end" via-middle
