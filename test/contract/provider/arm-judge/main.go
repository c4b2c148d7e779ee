// Command arm-judge stands between the SDK and the sandbox's ARM. Every request goes through Microsoft's generated fake
// server, which holds its path and body against the published interface; every answer of the sandbox is decoded into
// Microsoft's types and encoded again, and a field that is lost on the way is an error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8/fake"
)

// Where the fake server's own client would ask about an operation.
const statusSuffix = "/get/fake/status"

// How the fake server tells its own client of an operation's state.
const statusHeader = "Fake-Poller-Status"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: arm-judge URL-OF-THE-SANDBOX")
		os.Exit(2)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	transport := fake.NewServerFactoryTransport(serversOver(sandbox{url: os.Args[1]}))
	fmt.Printf("http://%s\n", listener.Addr())
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { judge(transport, w, r) })
	fmt.Fprintln(os.Stderr, http.Serve(listener, handler))
	os.Exit(1)
}

func judge(transport *fake.ServerFactoryTransport, w http.ResponseWriter, r *http.Request) {
	name := operationName(r.Method, strings.TrimSuffix(r.URL.Path, statusSuffix))
	r.URL.Scheme, r.URL.Host = "http", r.Host
	request := r.WithContext(context.WithValue(r.Context(), runtime.CtxAPINameKey{}, name))
	response, err := transport.Do(request)
	if err != nil {
		refuse(w, name, err)
		return
	}
	defer response.Body.Close()
	answer(w, r, response)
}

// The name by which the generated code knows a call; the status of an operation is asked for under the name of the order.
func operationName(method, path string) string {
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	client := "VirtualMachinesClient"
	if strings.Contains(path, "/virtualMachineScaleSets/") {
		client = "VirtualMachineScaleSetVMsClient"
	}
	switch {
	case strings.Contains(path, "/disks/"):
		return "DisksClient.Get"
	case last == "attachDetachDataDisks":
		return client + ".BeginAttachDetachDataDisks"
	case last == "powerOff":
		return client + ".BeginPowerOff"
	case last == "virtualMachines":
		return client + ".NewListPager"
	default:
		return client + "." + strings.ToUpper(method[:1]) + strings.ToLower(method[1:])
	}
}

// What is rejected by the sandbox has a code; anything else is the judge's own verdict, no answer of ARM, and told.
func refuse(w http.ResponseWriter, name string, err error) {
	status, code := http.StatusTeapot, "JudgedWrong"
	var declined *azcore.ResponseError
	if errors.As(err, &declined) {
		status, code = declined.StatusCode, declined.ErrorCode
	} else {
		fmt.Printf("%s: %v\n", name, err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"code": code, "message": name + ": " + err.Error()}})
}

// ARM names a place to ask at instead of the fake server's own header.
func answer(w http.ResponseWriter, r *http.Request, response *http.Response) {
	for key, values := range response.Header {
		if key != statusHeader {
			w.Header()[key] = values
		}
	}
	if response.StatusCode == http.StatusAccepted {
		path := strings.TrimSuffix(r.URL.Path, statusSuffix) + statusSuffix
		w.Header().Set("Location", "http://"+r.Host+path+"?"+r.URL.RawQuery)
		w.Header().Set("Retry-After", "0")
	}
	w.WriteHeader(response.StatusCode)
	io.Copy(w, response.Body)
}
