// deploy-check does the part of `helm lint`, `helm template` and `docker compose config` that needs only files. The whole
// of helm, which also calls clusters and registries, takes minutes to build. This uses only the packages that read, check
// and render.
//
//	deploy-check lint CHART --kube-version VERSION [--values FILE] [--set NAME=VALUE]
//	deploy-check template CHART --kube-version VERSION --release NAME [--values FILE] [--set NAME=VALUE]
//	deploy-check compose FILE
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/strvals"
)

const namespace = "tidemark"

func main() {
	if len(os.Args) < 3 {
		fail(errors.New("usage: deploy-check lint|template|compose PATH [OPTIONS]"))
	}
	command, file := os.Args[1], os.Args[2]
	options := flag.NewFlagSet(command, flag.ExitOnError)
	release := options.String("release", "", "name of the release")
	kubeVersion := options.String("kube-version", "", "version of Kubernetes")
	values := map[string]any{}
	options.Func("values", "file of values", func(name string) error {
		read, err := chartutil.ReadValuesFile(name)
		values = chartutil.MergeTables(read, values)
		return err
	})
	options.Func("set", "one value", func(text string) error { return strvals.ParseInto(text, values) })
	options.Parse(os.Args[3:])

	var err error
	switch command {
	case "lint":
		err = lintChart(file, values, *kubeVersion)
	case "template":
		err = renderChart(file, values, *kubeVersion, *release)
	case "compose":
		err = checkCompose(file)
	default:
		err = fmt.Errorf("no command %q", command)
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "Error:", err)
	os.Exit(1)
}

// Does what `helm lint --strict` does: warnings are errors.
func lintChart(folder string, values map[string]any, kubeVersion string) error {
	version, err := chartutil.ParseKubeVersion(kubeVersion)
	if err != nil {
		return err
	}
	failed := 0
	for _, message := range lint.AllWithKubeVersion(folder, values, namespace, version).Messages {
		fmt.Println(message)
		if message.Severity >= support.WarningSev {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d faults", failed)
	}
	return nil
}

// Does what `helm template` does: prints the manifests in the order of installation, then the hooks.
func renderChart(folder string, values map[string]any, kubeVersion, release string) error {
	chart, err := loader.Load(folder)
	if err != nil {
		return err
	}
	for _, template := range chart.Templates {
		if bytes.Contains(template.Data, []byte(".APIVersions")) {
			return fmt.Errorf("%s uses .APIVersions, but no-cluster/client-go does not know the versions of a cluster", template.Name)
		}
	}
	version, err := chartutil.ParseKubeVersion(kubeVersion)
	if err != nil {
		return err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	if required := chart.Metadata.KubeVersion; required != "" && !chartutil.IsCompatibleRange(required, version.String()) {
		return fmt.Errorf("the chart requires Kubernetes %s, not %s", required, version)
	}
	if err := chartutil.ProcessDependenciesWithMerge(chart, values); err != nil {
		return err
	}
	about := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	scope, err := chartutil.ToRenderValues(chart, values, about, capabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, scope)
	if err != nil {
		return err
	}
	for name := range files {
		if path.Base(name) == "NOTES.txt" {
			delete(files, name)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, one := range manifests {
		fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", one.Name, one.Content)
	}
	fmt.Println(strings.TrimSpace(text.String()))
	for _, hook := range hooks {
		fmt.Printf("---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
	}
	return nil
}

// Does what `docker compose config --no-interpolate` does.
func checkCompose(file string) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	options, err := cli.NewProjectOptions([]string{file},
		cli.WithWorkingDirectory(folder),
		cli.WithOsEnv,
		cli.WithDotEnv,
		cli.WithInterpolation(false),
		cli.WithResolvedPaths(true),
		cli.WithNormalization(true),
		cli.WithConsistency(true),
	)
	if err != nil {
		return err
	}
	_, err = options.LoadModel(context.Background())
	return err
}
