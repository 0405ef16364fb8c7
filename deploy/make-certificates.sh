#!/usr/bin/env bash
# Makes a certificate authority and a certificate for trying out deploy/helm/backing: ca.crt, tls.crt and tls.key in FOLDER.
#   deploy/make-certificates.sh FOLDER [NAMESPACE]
#   kubectl -n tidemark create secret generic tidemark-backing-tls --from-file=FOLDER
# The key of the authority is not kept. To get another certificate, run this again and replace all files.
set -euo pipefail
folder="${1:?usage: deploy/make-certificates.sh FOLDER [NAMESPACE]}"
namespace="${2:-tidemark}"
umask 077
mkdir "$folder"
authority="$(mktemp -d)"
trap 'rm -r "$authority"' EXIT

names='DNS:localhost'
for host in postgres s3 search search-0.search search-1.search search-2.search; do
  names+=",DNS:$host,DNS:$host.$namespace.svc,DNS:$host.$namespace.svc.cluster.local"
done
curve=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc)
openssl req -x509 "${curve[@]}" -days 825 -subj '/CN=Tidemark trial authority' \
  -addext 'keyUsage=critical,keyCertSign,cRLSign' -keyout "$authority/ca.key" -out "$folder/ca.crt"
openssl req -x509 "${curve[@]}" -days 825 -subj '/CN=tidemark-backing' -CA "$folder/ca.crt" -CAkey "$authority/ca.key" \
  -addext "subjectAltName=$names" -addext 'basicConstraints=critical,CA:FALSE' \
  -addext 'keyUsage=critical,digitalSignature' -addext 'extendedKeyUsage=serverAuth,clientAuth' \
  -keyout "$folder/tls.key" -out "$folder/tls.crt"
