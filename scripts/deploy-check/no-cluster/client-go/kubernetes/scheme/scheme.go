// Package scheme: a scheme without the types of Kubernetes, which take long to compile. Rendering does not need them.
package scheme

import "k8s.io/apimachinery/pkg/runtime"

var Scheme = runtime.NewScheme()

func AddToScheme(*runtime.Scheme) error { return nil }
