// Package dynamic: the part of k8s.io/client-go/dynamic that helm's template engine names. There is no cluster here.
package dynamic

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

type ResourceInterface interface {
	Get(ctx context.Context, name string, options metav1.GetOptions, parts ...string) (*unstructured.Unstructured, error)
	List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

type NamespaceableResourceInterface interface {
	ResourceInterface
	Namespace(name string) ResourceInterface
}

type Interface interface {
	Resource(resource schema.GroupVersionResource) NamespaceableResourceInterface
}

func NewForConfig(*rest.Config) (Interface, error) {
	return nil, errors.New("there is no cluster to look anything up in")
}
