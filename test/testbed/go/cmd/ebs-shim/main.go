// Command ebs-shim stands in for the controller half of the AWS EBS CSI driver: it attaches and detaches volumes through
// the EC2 API at an endpoint of the test's choice, at the real driver's pace, and knows nothing else.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
)

var (
	socket   = flag.String("socket", "", "path of the unix socket that the attacher connects to")
	control  = flag.String("control", "", "address of the HTTP port on which tests turn the knobs")
	endpoint = flag.String("ec2-endpoint", "", "URL of the EC2 API")
	region   = flag.String("region", "us-east-1", "region named in the requests' credentials")
	name     = flag.String("driver-name", "ebs.csi.aws.com", "name of the CSI driver")
	driver   = flag.String("driver", "", "path of the unix socket of a driver that does the work instead")
	pace     = flag.Duration("pace", 500*time.Millisecond, "time of batching before a call, and between two looks after it")
)

func main() {
	flag.Parse()
	if *socket == "" || *control == "" || *endpoint == "" {
		flag.Usage()
		os.Exit(2)
	}
	knobs := newKnobs()
	go func() { log.Fatal(http.ListenAndServe(*control, knobs)) }()
	// One that was killed leaves its socket behind.
	_ = os.Remove(*socket)
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(logged))
	if err := register(server, knobs); err != nil {
		log.Fatal(err)
	}
	go stopOnSignal(server)
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
}

func register(server *grpc.Server, knobs *knobs) error {
	if *driver != "" {
		return registerRelay(server, *driver, knobs)
	}
	csi.RegisterIdentityServer(server, &identity{name: *name})
	csi.RegisterControllerServer(server, &controller{ec2: &ec2{endpoint: *endpoint, region: *region}, knobs: knobs, pace: *pace})
	return nil
}

func stopOnSignal(server *grpc.Server) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	<-signals
	server.Stop()
}

func logged(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	begun := time.Now()
	answer, err := handler(ctx, request)
	log.Printf("%s %v: %v (%v)", info.FullMethod, request, err, time.Since(begun).Round(time.Millisecond))
	return answer, err
}
