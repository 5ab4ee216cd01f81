#!/bin/sh
# Makes the certificates of the tests anew: DER, valid for a hundred years, keys in PKCS#8. They are checked in.
set -eu
cd "$(dirname "$0")"

make() { # name, subjectAltName or "", key options of `openssl genpkey`
    name=$1 names=$2
    shift 2
    openssl genpkey "$@" 2>/dev/null | openssl pkcs8 -topk8 -nocrypt -outform DER -out "$name.key.der"
    openssl req -x509 -new -key "$name.key.der" -keyform DER -days 36500 -subj "/CN=$name" \
        ${names:+-addext "subjectAltName=$names"} -outform DER -out "$name.crt.der"
}

# Signed by `authority`, as servers show to us.
issue() { # name, subjectAltName
    openssl genpkey $p256 2>/dev/null | openssl pkcs8 -topk8 -nocrypt -outform DER -out "$1.key.der"
    openssl req -new -key "$1.key.der" -keyform DER -subj "/CN=$1" -out "$1.csr"
    printf 'subjectAltName=%s\nbasicConstraints=CA:FALSE\n' "$2" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA authority.crt.der -CAform DER -CAkey authority.key.der -CAkeyform DER \
        -days 36500 -extfile "$1.ext" -outform DER -out "$1.crt.der" 2>/dev/null
    rm "$1.csr" "$1.ext"
}

p256="-algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:named_curve"
p384="-algorithm EC -pkeyopt ec_paramgen_curve:P-384 -pkeyopt ec_param_enc:named_curve"
rsa="-algorithm RSA -pkeyopt rsa_keygen_bits:2048"

make default-ec "" $p256
make default-rsa "" $rsa
make shop-ec "DNS:shop.example" $p256
make shop-rsa "DNS:shop.example" $rsa
make wild-p384 "DNS:*.example,DNS:Mixed.Case.test" $p384
make authority "" $p256
issue issued "DNS:one.internal,IP:10.0.0.1"
