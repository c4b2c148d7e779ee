// Command controlplane is the whole Kubernetes control plane in one binary: its own name, or else its first argument,
// says which component it is to be.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

var components = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() { os.Exit(cli.Run(controllermanager.NewControllerManagerCommand())) },
	"kube-scheduler":          func() { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) },
}

// Which component is meant. A name given as argument is taken out of the arguments, so that the component sees only its own.
func chosen() string {
	if name := filepath.Base(os.Args[0]); components[name] != nil || len(os.Args) < 2 {
		return name
	}
	name := os.Args[1]
	os.Args = slices.Concat([]string{name}, os.Args[2:])
	return name
}

func main() {
	run := components[chosen()]
	if run == nil {
		fmt.Fprintln(os.Stderr, "say which component to be: etcd, kube-apiserver, kube-controller-manager or kube-scheduler")
		os.Exit(2)
	}
	run()
}
