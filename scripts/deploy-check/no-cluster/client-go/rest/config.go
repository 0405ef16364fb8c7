// Package rest: the part of k8s.io/client-go/rest that helm's template engine names. There is no cluster here.
package rest

type Config struct{}
